struct SocketEnd: Error {}
