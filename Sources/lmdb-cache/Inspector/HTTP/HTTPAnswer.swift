/// What becomes of a request that was let in.
enum HTTPAnswer {
  case response(HTTPResponse)
  /// The response's body is what the closure writes, until it returns.
  case stream(HTTPResponse, (HTTPConnection) throws(SocketEnd) -> Void)
}
