"""A picture described, as an object of one's own type."""

from pydantic import BaseModel

from actum import Agent
from actum.messages import Image, Text
from model import onlooker


class Picture(BaseModel):
    subject: str
    colours: list[str]


agent = Agent(onlooker, roots=["."])
picture = agent.run_sync([Text("What is on it?"), Image(path="photo.png")], Picture).output
print(picture.subject, "in", " and ".join(picture.colours))
