/// The answer to an admitted request.
enum HTTPAnswer {
  case response(HTTPResponse)
  /// A response whose body the closure writes until it returns.
  case stream(HTTPResponse, (HTTPConnection) throws(SocketEnd) -> Void)
}
