/// Why a request is not answered as asked, with the status of the response and a sentence for its body.
struct HTTPRefusal: Error {
  var status: Int
  var message: String
  var headers: [(name: String, value: String)] = []

  init(_ status: Int, _ message: String) {
    self.status = status
    self.message = message
  }
}
