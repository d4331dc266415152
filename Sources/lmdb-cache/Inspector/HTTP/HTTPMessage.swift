import Foundation

/// An HTTP/1.1 request in the inspector's subset.
///
/// Browsers send only a part of the protocol; the rest is refused, so that nothing is ambiguous: lines end with CR LF,
/// important headers appear once, and a body has a length.
struct HTTPRequest {
  let method: String
  /// Unescaped path components; the last one is empty for a path that ends with a slash.
  let path: [String]
  /// Unescaped; the last one wins among equal names.
  let query: [String: String]
  /// By lowercase name; the last one wins among equal names.
  let headers: [String: String]
  let bodyLength: Int
  var body = Data()

  static let greatestBody = 64 << 10
  private static let greatestHeaders = 100
  private static let singleHeaders: Set = [
    "host", "origin", "content-length", "content-type", "transfer-encoding", "sec-fetch-site",
  ]

  /// - Parameter head: Everything before the empty line.
  init(head: Data) throws(HTTPRefusal) {
    // By bytes, because headers may not be UTF-8.
    var lines: [String] = []
    for line in (head + Data("\r".utf8)).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      guard line.last == UInt8(ascii: "\r") else {
        throw HTTPRefusal(400, "A line of the request does not end with CR LF.")
      }
      lines.append(String(decoding: line.dropLast(), as: UTF8.self))
    }
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, !words[0].isEmpty, words[0].utf8.allSatisfy(Self.isToken), words[1].hasPrefix("/"),
      words[1].utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else { throw HTTPRefusal(400, "This is no request of HTTP/1.1.") }
    guard words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else {
      throw HTTPRefusal(505, "HTTP/1.1 is spoken here.")
    }
    method = String(words[0])
    (path, query) = try Self.target(words[1])
    headers = try Self.headers(lines.dropFirst())
    if headers["transfer-encoding"] != nil { throw HTTPRefusal(501, "A body has to come with its length.") }
    bodyLength = try Self.length(headers["content-length"])
  }

  private static func length(_ text: String?) throws(HTTPRefusal) -> Int {
    guard let text else { return 0 }
    // Digits only: `Int` also accepts a sign.
    guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
      throw HTTPRefusal(400, "Content-Length is no number.")
    }
    guard let length = Int(text), length <= greatestBody else {
      throw HTTPRefusal(413, "A body has \(greatestBody) bytes at most.")
    }
    return length
  }

  private static func headers(_ lines: ArraySlice<String>) throws(HTTPRefusal) -> [String: String] {
    guard lines.count <= greatestHeaders else { throw HTTPRefusal(431, "There are too many headers.") }
    var headers: [String: String] = [:]
    for line in lines {
      guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
        line.utf8[..<colon].allSatisfy(isToken),
        !line.utf8.contains(where: { $0 < 0x20 && $0 != UInt8(ascii: "\t") || $0 == 0x7F })
      else { throw HTTPRefusal(400, "A header is none.") }
      let name = line[..<colon].lowercased()
      let value = line[line.utf8.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      if headers.updateValue(value, forKey: name) != nil, singleHeaders.contains(name) {
        throw HTTPRefusal(400, "The header \(name) is there twice.")
      }
    }
    return headers
  }

  private static func target(_ target: Substring) throws(HTTPRefusal) -> ([String], [String: String]) {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var path: [String] = []
    for part in parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      path.append(try unescaped(part))
    }
    var query: [String: String] = [:]
    for item in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      query[try unescaped(pair[0])] = pair.count > 1 ? try unescaped(pair[1]) : ""
    }
    return (path, query)
  }

  private static func unescaped(_ text: Substring) throws(HTTPRefusal) -> String {
    guard let unescaped = text.removingPercentEncoding else {
      throw HTTPRefusal(400, "The address has an escape that is none, or is no UTF-8.")
    }
    return unescaped
  }

  /// The characters of names and methods (RFC 9110, 5.6.2).
  private static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}

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
    var lines = ["HTTP/1.1 \(status) ", "Connection: close"]
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
}

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

/// The answer to an admitted request.
enum HTTPAnswer {
  case response(HTTPResponse)
  /// A response whose body the closure writes until it returns.
  case stream(HTTPResponse, (HTTPConnection) throws(SocketEnd) -> Void)
}

extension HTTPAnswer {
  static func json(_ value: some Encodable, status: Int = 200) throws -> HTTPAnswer {
    .response(HTTPResponse(status, type: "application/json", Data(try JSONOutput.encode(value, pretty: false).utf8)))
  }
}
