import Foundation
import LMDBCaching
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Requests to `serve`, permitted and not.
@Suite(.ownThreads) struct ServeTests {
  let scratch = try! Scratch()

  /// A server of a cache with 200 entries.
  private func started(isWritable: Bool = false) throws -> InspectorSession {
    try scratch.fill(200)
    return try InspectorSession(cache: scratch.cache, isWritable: isWritable)
  }

  private struct Listing: Decodable {
    struct Entry: Decodable { let key: String, isCut: Bool }
    let entries: [Entry]
    let next: String?
  }

  private struct Entry: Decodable {
    struct View: Decodable { let kind, title: String, text: String?, shown: Int? }
    let views: [View]
  }

  private struct Question: Decodable { let confirmation, question: String }

  // MARK: Who may ask

  @Test func thePageIsADocumentThatCanDoLittle() throws {
    let session = try started()
    #expect(session.token.count == 32)
    let page = try session.get()
    #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
    let policy = try #require(page.headers["content-security-policy"])
    for part in [
      "default-src 'none'", "script-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ] { #expect(policy.contains(part)) }
    #expect(!policy.contains("unsafe"))
    for response in [page, try session.get("api/entries"), try session.send("GET / HTTP/1.1\r\n\r\n")] {
      for (name, value) in [
        ("x-content-type-options", "nosniff"), ("cache-control", "no-store"), ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
      ] { #expect(response.headers[name] == value) }
      #expect(response.headers["content-security-policy"]?.contains("default-src 'none'") == true)
      // No header may let another page read the answer.
      #expect(response.headers["access-control-allow-origin"] == nil)
    }
    // The page is self-contained: the only other URL names a vocabulary.
    for name in page.text.matches(of: /(?:src|href)="([^"]+)"/).map({ String($0.1) }) {
      let file = try session.get(name)
      #expect(file.status == 200, "\(name)")
      let addresses = file.text.replacing("http://www.w3.org/2000/svg", with: "")
      #expect(!addresses.contains("http://") && !addresses.contains("https://"), "\(name)")
    }
  }

  /// Requests by their status. T is the token, H the server's host. A path alone is a GET request with the server's host,
  /// and more headers after a bar.
  private static let requests: [(status: Int, requests: [String])] = [
    (200, ["/T/ | Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate", "HEAD /T/ HTTP/1.1\r\nHost: H"]),
    (308, ["/T"]),
    (
      400,
      [
        "/T/ | Host: H", "/T/%ff", "/T/%zz", "GET http://H/T/ HTTP/1.1\r\nHost: H", "GET /T/\r\nHost: H",
        "GET  /T/ HTTP/1.1\r\nHost: H", "GET /T/ HTTP/1.1\nHost: H", "GET /T/ HTTP/1.1\r\nHost : H", "/T/ |  folded",
        "/T/ | Content-Length: -1", "/T/ | Content-Length: +1", "/T/api/entries?limit=0", "/T/api/entries?limit=501",
        "/T/api/entries?limit=x", "/T/api/entries?after=%21", "/T/api/entry",
      ]
    ),
    (
      403,
      [
        "/", "/0123456789abcdef0123456789abcdef/", "/T0/", "/api/entries", "/T/ | Origin: http://example.org",
        "/T/ | Origin: null", "/T/api/entries | Sec-Fetch-Site: cross-site",
        "/T/api/entries | Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate",
        "POST /T/api/remove HTTP/1.1\r\nHost: H",
      ]
    ),
    (
      404,
      [
        "/T/../../../../etc/passwd", "/T/%2e%2e/%2e%2e/etc/passwd", "/T/..%2f..%2fetc%2fpasswd", "/T//etc/passwd",
        "/T/api/nothing", "/T/api/entry?key=none",
      ]
    ),
    (405, ["POST /T/ HTTP/1.1\r\nHost: H\r\nOrigin: http://H", "/T/api/remove", "PUT /T/ HTTP/1.1\r\nHost: H"]),
    (413, ["/T/ | Content-Length: 65537", "/T/ | Content-Length: 99999999999999999999"]),
    (
      421,
      [
        "GET /T/ HTTP/1.1\r\nHost: example.org", "GET /T/ HTTP/1.1\r\nHost: 127.0.0.1", "GET /T/ HTTP/1.1",
        "GET /T/ HTTP/1.1\r\nHost: 127.0.0.1.example.org:80",
      ]
    ),
    (501, ["/T/ | Transfer-Encoding: chunked"]), (505, ["GET /T/ HTTP/2.0\r\nHost: H"]),
  ]

  @Test func requestsAreAnswered() throws {
    let session = try started()
    for (status, requests) in Self.requests {
      for request in requests {
        let parts = request.components(separatedBy: " | ")
        let whole = parts[0].hasPrefix("/") ? "GET \(parts[0]) HTTP/1.1\r\nHost: H" : parts[0]
        let lines = ([whole] + parts.dropFirst()).joined(separator: "\r\n") + "\r\n\r\n"
        let bytes = lines.replacing("H\r\n", with: session.host + "\r\n").replacing("/T", with: "/" + session.token)
        #expect(try session.send(bytes).status == status, "\(request)")
      }
    }
    #expect(try session.get("api/summary").status == 200)
  }

  @Test func whoMisbehavesKeepsNobodyOut() throws {
    let session = try started()
    // Requests without an end.
    #expect(try session.send("GET /" + String(repeating: "a", count: 1 << 20)).status == 431)
    let headers = (0..<200).map { "X-\($0): 1\r\n" }.joined()
    #expect(try session.send(session.head("GET", "") + headers + "\r\n").status == 431)
    // Beyond the connection limit, idle connections give way to active ones: they get a 408 or are closed.
    let silent = try (0..<150).map { _ in try RawConnection(port: session.port) }
    for connection in silent.prefix(75) { connection.write(Data("GET /".utf8)) }
    for _ in 0..<5 { #expect(try session.get("api/summary").status == 200) }
    for index in [149, 0] { #expect([0, 408].contains(RawResponse(silent[index].readToEnd()).status)) }
    // Subscribers that do not read.
    let idle = try (0..<20).map { _ in try session.subscribed() }
    let statuses = idle.map { RawResponse($0.read()).status }
    #expect(statuses.filter { $0 == 200 }.count == 16 && statuses.filter { $0 == 503 }.count == 4, "\(statuses)")
    #expect(try session.get("api/summary").status == 200)
  }

  // MARK: How it begins and ends

  @Test(arguments: [SIGINT, SIGTERM]) func aSignalEndsIt(_ number: Int32) throws {
    let session = try started()
    let stream = try session.subscribed()
    #expect(!stream.read().isEmpty)
    session.process.signal(number)
    #expect(session.process.readToEnd().isEmpty)
    #expect(session.process.end() == .exit(0))
  }

  @Test func onePortOfOneAddressIsTaken() async throws {
    let session = try started()
    try await scratch.expect("$75 serve --port \(session.port)\n! --port")
    #if os(Linux)
      // Every other address of this machine, also of the loopback network, is refused.
      for address in [0x7F00_0002, 0x7F01_0203] as [UInt32] {
        #expect(throws: (any Error).self) { try RawConnection(port: session.port, address: address) }
      }
    #endif
  }

  // MARK: Entries

  private func listings(_ query: String, of session: InspectorSession) throws -> [[Listing.Entry]] {
    var (listings, place): ([[Listing.Entry]], String) = ([], "")
    repeat {
      let listing: Listing = try session.json("api/entries?\(query)\(place)")
      listings.append(listing.entries)
      place = listing.next.map { "&after=\(InspectorSession.escaped($0))" } ?? ""
    } while place != ""
    return listings
  }

  @Test func pagesOfTheListAreTheWholeList() throws {
    try scratch.fill { cache in
      for number in 0..<1_234 { try cache.set(number, forKey: "key:\(number)") }
      try cache.set("long", forKey: String(repeating: "k", count: 600))
      try cache.set("longer", forKey: String(repeating: "l", count: 5_000))
      try cache.set("empty", forKey: "")
    }
    let session = try InspectorSession(cache: scratch.cache)
    for (search, count) in [("", 1_237), ("&search=E", 1_234)] {
      let pages = try listings("limit=100" + search, of: session)
      let entries = pages.flatMap(\.self)
      #expect(pages.allSatisfy { $0.count <= 100 })
      #expect(entries.filter(\.isCut).allSatisfy { $0.key.utf8.count == 4_096 })
      #expect(entries.count == count && Set(entries.map(\.key)).count == count)
    }
    let found: Listing = try session.json("api/entries?search=KEY:99&prefix=key:9")
    #expect(Set(found.entries.map(\.key)) == Set(([99] + Array(990...999)).map { "key:\($0)" }))
  }

  static let hostile = [
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "javascript:alert(1)", "\"'`\\",
    "\0\u{1}\u{7F}",
    "\u{202E}exe.fdp", "a\r\nSet-Cookie: b=c", "\u{2028}\u{2029}", "%00%2e", "../../etc/passwd", "ключ 鍵 🔑", "e\u{301}",
    " ",
  ]

  @Test func anyKeyAndValueComesAsItIs() throws {
    try scratch.fill { cache in for text in Self.hostile { try cache.set(text, forKey: text) } }
    let session = try InspectorSession(cache: scratch.cache)
    let listing: Listing = try session.json("api/entries")
    #expect(Set(listing.entries.map { Array($0.key.utf8) }) == Set(Self.hostile.map { Array($0.utf8) }))
    for text in Self.hostile {
      let response = try session.get("api/entry?key=\(InspectorSession.escaped(text))")
      #expect(response.status == 200 && response.headers["content-type"] == "application/json", "\(text)")
      #expect(response.headers["set-cookie"] == nil, "\(text)")
      let entry: Entry = try response.json()
      #expect(entry.views.last?.kind == "hex", "\(text)")
      // Views must not contain characters that reverse the rest of a line.
      #expect(
        !entry.views.compactMap(\.text).joined().unicodeScalars.contains { "\u{202E}\0".unicodeScalars.contains($0) })
      #expect(try session.get("api/image?key=\(InspectorSession.escaped(text))").status == 415)
    }
  }

  private struct Person: Codable { var name: String, age: Int }

  @Test func valuesAreShownByTheirKind() throws {
    let list: [String: Any] = ["limits": [1, 2]]
    let json = #"{"a":[1.50,12345678901234567890],"b":{},"c":"}:,"}"#
    try scratch.fill { cache in
      try cache.set(json, forKey: "json")
      try cache.set(Person(name: "Ada", age: 36), forKey: "codable")
      for (key, format) in [("binary", PropertyListSerialization.PropertyListFormat.binary), ("xml", .xml)] {
        let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
        try cache.set(data, forKey: key)
      }
      try cache.set(42, forKey: "number")
      try cache.set(Data([0, 65, 255]), forKey: "bytes")
      // Foundation's formatter crashes for it.
      try cache.set(Date(timeIntervalSinceReferenceDate: .nan), forKey: "date")
    }
    let session = try InspectorSession(cache: scratch.cache)
    func views(_ key: String) throws -> [Entry.View] { try session.json("api/entry?key=\(key)", as: Entry.self).views }
    let propertyList = "{\n  \"limits\": [\n    1,\n    2\n  ]\n}"
    let indented = "{\n  \"a\": [\n    1.50,\n    12345678901234567890\n  ],\n  \"b\": {},\n  \"c\": \"}:,\"\n}"
    for (key, titles, text) in [
      ("json", ["JSON", "Text", "Bytes"], indented),
      ("codable", ["CBOR", "Bytes"], "{\n  \"age\": 36,\n  \"name\": \"Ada\"\n}"),
      ("binary", ["Property list", "Bytes"], propertyList), ("xml", ["Property list", "Bytes"], propertyList),
    ] {
      let views = try views(key)
      #expect(views.map(\.title) == titles && views[0].text == text, "\(key)")
    }
    #expect(try views("number").first?.text == "42")
    let bytes = try views("bytes")
    #expect(bytes.map(\.kind) == ["hex"])
    #expect(bytes[0].text?.hasPrefix("00000000  00 41 ff") == true && bytes[0].text?.hasSuffix(" .A.\n") == true)
    #expect(try !views("date").isEmpty)
  }

  private static let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])

  /// Megabytes are cut to kilobytes, with a note. The cut may fall within a character.
  @Test func whatIsLongIsCut() throws {
    let list = "[" + String(repeating: "1,", count: 1 << 20) + "1]"
    let texts = ["words": String(repeating: "läng ", count: 1 << 20), "list": list]
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    try scratch.fill(configuration) { cache in
      for (key, text) in texts { try cache.set(text, forKey: key) }
      for shift in 0..<3 {
        let text = "[\"" + String(repeating: " ", count: shift) + String(repeating: "ö€", count: 40_000) + "\"]"
        try cache.set(Data(text.utf8), forKey: "shift\(shift)")
      }
      try cache.set(Self.png + Data(count: 17 << 20), forKey: "image")
      for number in 0..<20 { try cache.set(number, forKey: "\(number)" + String(repeating: "k", count: 1 << 20)) }
    }
    let session = try InspectorSession(cache: scratch.cache)
    for key in texts.keys {
      let response = try session.get("api/entry?key=\(key)")
      #expect(response.status == 200 && response.body.count < 400_000)
      let entry: Entry = try response.json()
      #expect(entry.views.allSatisfy { $0.shown != nil && $0.shown! <= 100_000 })
    }
    for shift in 0..<3 {
      let entry: Entry = try session.json("api/entry?key=shift\(shift)")
      #expect(entry.views.map(\.title) == ["JSON", "Text", "Bytes"])
    }
    let image: Entry = try session.json("api/entry?key=image")
    #expect(image.views.map(\.kind) == ["note", "hex"])
    #expect(try session.get("api/image?key=image").status == 413)
    // A page of keys is limited to some MB.
    #expect(try listings("limit=500", of: session).flatMap(\.self).filter(\.isCut).count == 20)
  }

  @Test func onlyImagesAreImages() throws {
    let images = [
      "png": Self.png, "jpeg": Data([0xFF, 0xD8, 0xFF, 0xE0]), "gif": Data("GIF89a".utf8),
      "webp": Data("RIFF0000WEBP".utf8),
    ].mapValues { $0 + Data("<script>".utf8) }
    let others = ["GIF", "RIFF0000WAVE", "BM", "<svg onload='alert(1)'/>", "<html><script>alert(1)</script>"]
    try scratch.fill { cache in
      for (key, image) in images { try cache.set(image, forKey: key) }
      for text in others { try cache.set(Data(text.utf8), forKey: text) }
    }
    let session = try InspectorSession(cache: scratch.cache)
    for (key, bytes) in images {
      let image = try session.get("api/image?key=\(key)")
      #expect(image.status == 200 && image.body == bytes && image.headers["content-type"] == "image/\(key)")
      #expect(image.headers["x-content-type-options"] == "nosniff")
      #expect(image.headers["content-security-policy"]?.hasSuffix("sandbox") == true)
    }
    for key in others { #expect(try session.get("api/image?key=\(InspectorSession.escaped(key))").status == 415) }
  }

  // MARK: Looking

  @Test func lookingChangesNothing() throws {
    try scratch.fill(200)
    let before = try TreeImage(scratch.cache, except: ["lock.mdb"])
    let session = try InspectorSession(cache: scratch.cache)
    for path in [
      "", "main.js", "api/summary", "api/entries", "api/entries?search=9", "api/entry?key=key%3A1000", "api/prefixes",
    ] { #expect(try session.get(path).status == 200, "\(path)") }
    for path in ["remove", "trim"] { #expect(try session.post("api/\(path)", #"{"key":"key:1000"}"#).status == 403) }
    // Samples come every second. HEAD requests take no subscriber's slot.
    for _ in 0..<20 { #expect(try session.send(session.head("HEAD", "api/events") + "\r\n").status == 200) }
    let connection = try session.subscribed()
    var text = ""
    while text.components(separatedBy: "event: sample\ndata: {").count < 4 {
      let more = connection.read()
      try #require(!more.isEmpty, "the stream ends: \(text)")
      text += String(decoding: more, as: UTF8.self)
    }
    #expect(text.contains("Content-Type: text/event-stream"))
    let after = try TreeImage(scratch.cache, except: ["lock.mdb"])
    #expect(before.losses(in: after) == [] && before.additions(in: after) == [])
  }

  // MARK: Changing

  @Test func anEntryIsRemovedAfterAQuestion() async throws {
    let session = try started(isWritable: true)
    let remove = #"{"key":"key:1000"}"#
    // The request needs the page's origin, and a content type that no form has.
    for origin in [nil, "http://example.org"] {
      #expect(try session.post("api/remove", remove, origin: origin).status == 403)
    }
    #expect(try session.post("api/remove", remove, type: "text/plain").status == 415)
    #expect(try session.post("api/remove", "{").status == 400)
    #expect(try session.post("api/remove", #"{"key":"none"}"#).status == 404)
    let asked = try session.post("api/remove", remove)
    let question: Question = try asked.json()
    #expect(asked.status == 202 && question.question.contains("10 B"))
    // Nothing is removed yet, and the code is valid only for this question.
    #expect(try session.get("api/entry?key=key%3A1000").status == 200)
    func confirm(_ code: String, _ key: String = "key:1000") throws -> RawResponse {
      try session.post("api/remove", #"{"key":"\#(key)","confirmation":"\#(code)"}"#)
    }
    let code = question.confirmation
    #expect(try confirm(code, "key:1001").status == 409 && confirm(String(code.reversed())).status == 409)
    #expect(try confirm(code).text == #"{"removed":1}"#)
    #expect(try session.get("api/entry?key=key%3A1000").status == 404 && confirm(code).status == 409)
    try await scratch.expect("$1 get key:1000\n$ get key:1001\n= value 1001\n$ verify --values")
  }

  @Test func theCacheIsTrimmedAfterAQuestion() throws {
    let session = try started(isWritable: true)
    for limits in ["{}", #"{"count":-1}"#, #"{"age":-1}"#, #"{"cost":1e99}"#] {
      #expect(try session.post("api/trim", limits).status == 400, "\(limits)")
    }
    let asked = try session.post("api/trim", #"{"count":50}"#)
    let question: Question = try asked.json()
    #expect(asked.status == 202 && question.question.contains("50") && question.question.contains("200"))
    let other = #"{"count":0,"confirmation":"\#(question.confirmation)"}"#
    #expect(try session.post("api/trim", other).status == 409)
    let confirmed = #"{"count":50,"confirmation":"\#(question.confirmation)"}"#
    #expect(try session.post("api/trim", confirmed).text == #"{"removed":150}"#)
    #expect(try session.json("api/entries?limit=500", as: Listing.self).entries.count == 50)
  }
}
