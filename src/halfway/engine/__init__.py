"""How a run moves: slots, one pump, the execution of one attempt, epochs and the sweep. No SQL, no rule of recovery."""
