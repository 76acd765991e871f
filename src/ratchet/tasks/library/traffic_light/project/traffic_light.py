"""A pedestrian light: red until somebody asks, then green for a while."""


class Light:
    def __init__(self, green_ticks=3):
        self.green_ticks = green_ticks
        self.state = "red"
        self.left = 0
        self.asked = False

    def press(self):
        """Asks for green; while it is green, nothing happens."""
        if self.state == "green":
            self.asked = True

    def tick(self):
        if self.state == "red" and self.asked:
            self.state, self.left, self.asked = "green", self.green_ticks, False
        elif self.state == "green":
            self.left -= 1
            if self.left == 0:
                self.state = "red"
        return self.state
