"""The parts of a try: the servers, the script, the scripted model, the processes of the gateway, and the rest."""
