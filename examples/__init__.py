"""Small business applications on halfway. Each runs by itself, with stand-ins for the world outside: `python -m examples.order_status`."""
