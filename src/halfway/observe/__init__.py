"""How others hear of what happens: notifications; later metrics and traces."""
