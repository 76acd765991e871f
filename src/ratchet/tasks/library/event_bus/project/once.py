"""Listeners that are told once."""


def once(bus, topic, listener):
    def told(payload):
        bus.off(topic, told)
        listener(payload)

    bus.on(topic, told)
