/// The reason against a request, with the response's status and body text.
struct HTTPRefusal: Error {
  var status: Int
  var message: String
  var headers: [(name: String, value: String)] = []

  init(_ status: Int, _ message: String) {
    self.status = status
    self.message = message
  }
}
