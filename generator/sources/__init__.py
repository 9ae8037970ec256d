"""Where facts come from: the Hub, web servers, issue trackers, engine source. Only this package touches the network."""
