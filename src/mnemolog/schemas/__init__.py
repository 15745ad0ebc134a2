"""Events, Forms, the codec, upcasters and errors: pure data, which imports nothing of the rest."""
