/// The other side of a connection is gone.
struct SocketEnd: Error {}
