
BvaluesJ°¿¸§=<•8gBœ@