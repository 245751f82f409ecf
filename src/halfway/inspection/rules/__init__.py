"""The rules, one file each; `all_rules` has them in the order of their ids."""
