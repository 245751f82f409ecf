"""What the readers of node tools share: n8n, Zapier and Make draw a flow as nodes that hand records on."""
