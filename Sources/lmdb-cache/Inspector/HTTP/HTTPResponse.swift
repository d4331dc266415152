import Foundation

/// An HTTP/1.1 response, which ends its connection.
struct HTTPResponse {
  var status: Int
  var headers: [(name: String, value: String)] = []
  var body: Data

  init(_ status: Int = 200, type: String, _ body: Data) {
    self.status = status
    self.body = body
    headers = [("Content-Type", type)]
  }

  init(_ refusal: HTTPRefusal) {
    self.init(refusal.status, type: "text/plain; charset=utf-8", Data((refusal.message + "\n").utf8))
    headers += refusal.headers
  }

  /// - Parameter length: The body's length; `nil` until the connection ends.
  func head(length: Int?) -> Data {
    var lines = ["HTTP/1.1 \(status) \(Self.reasons[status] ?? "Other")", "Connection: close"]
    if let length { lines.append("Content-Length: \(length)") }
    // Forbids caching, type guessing, framing and use by other pages.
    lines += [
      "Cache-Control: no-store", "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
      "Cross-Origin-Resource-Policy: same-origin", "Cross-Origin-Opener-Policy: same-origin", "X-Frame-Options: DENY",
    ]
    if !headers.contains(where: { $0.name == "Content-Security-Policy" }) {
      // If a browser shows it as a document, it can do nothing.
      lines.append("Content-Security-Policy: default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox")
    }
    lines += headers.map { "\($0.name): \($0.value)" }
    return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  private static let reasons = [
    200: "OK", 202: "Accepted", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 409: "Conflict", 413: "Content Too Large", 415: "Unsupported Media Type",
    421: "Misdirected Request", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
    501: "Not Implemented", 503: "Service Unavailable", 505: "HTTP Version Not Supported",
  ]
}
