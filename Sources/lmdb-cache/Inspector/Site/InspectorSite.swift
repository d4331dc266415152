import Foundation
import LMDBCaching
import Synchronization

/// The answers of `serve`: the page and its requests, refused to all others.
final class InspectorSite: Sendable {
  let reader: CacheReader
  /// The argument of `--cache`.
  let cache: String
  let isWritable: Bool
  let confirmations = InspectorConfirmations()
  /// Held while the cache is changed; true once changes are over.
  let changes = Mutex(false)
  let streams = StreamPlace.Count()
  private let token = InspectorToken()
  private let hosts: [String]

  init(_ reader: CacheReader, cache: String, isWritable: Bool, port: UInt16) {
    self.reader = reader
    self.cache = cache
    self.isWritable = isWritable
    hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
  }

  /// The page's address, which grants all of the page's permissions.
  var address: String { "http://\(hosts[0])/\(token.text)/" }

  // MARK: Who may ask

  /// - Throws: For requests without the secret address, and from other pages.
  func admit(_ request: HTTPRequest) throws(HTTPRefusal) {
    // A foreign host name that resolves here would make its page same-origin (DNS rebinding).
    guard let host = request.headers["host"], hosts.contains(host) else {
      throw HTTPRefusal(421, "This server is \(hosts[0]) and nothing else.")
    }
    let origin = request.headers["origin"]
    guard origin.map({ $0 == "http://\(host)" }) ?? (request.method != "POST") else {
      throw HTTPRefusal(403, "Only the inspector's own page may ask.")
    }
    guard let first = request.path.first, token.matches(first) else {
      throw HTTPRefusal(403, "Open the address that lmdb-cache serve has printed.")
    }
    let isPage = request.method == "GET" && request.path.count <= 2 && request.path.last == ""
    switch request.headers["sec-fetch-site"] {
    case nil, "same-origin", "none": break
    // A link to the page from anywhere.
    case _ where isPage && request.headers["sec-fetch-mode"] == "navigate": break
    default: throw HTTPRefusal(403, "Only the inspector's own page may ask.")
    }
    guard ["GET", "HEAD", "POST"].contains(request.method) else { throw Self.wrongMethod("GET, HEAD, POST") }
  }

  private static func wrongMethod(_ allowed: String) -> HTTPRefusal {
    var refusal = HTTPRefusal(405, "That is not to be done here.")
    refusal.headers = [("Allow", allowed)]
    return refusal
  }

  // MARK: Answers

  func answer(_ request: HTTPRequest, _ connection: HTTPConnection) throws(HTTPRefusal) -> HTTPAnswer {
    let path = request.path.dropFirst()
    let isChange = path.elementsEqual(["api", "remove"]) || path.elementsEqual(["api", "trim"])
    if isChange != (request.method == "POST") { throw Self.wrongMethod(isChange ? "POST" : "GET, HEAD") }
    if isChange { return try change(request) }
    if path.isEmpty {
      var response = HTTPResponse(308, type: "text/plain; charset=utf-8", Data())
      response.headers.append(("Location", "/\(token.text)/"))
      return .response(response)
    }
    if path.elementsEqual([""]) { return .response(InspectorPage.document) }
    if path.count == 1, let file = InspectorPage.file(path.last ?? "") { return .response(file) }
    if path.count == 2, path.first == "api" {
      do {
        if let answer = try look(path.last ?? "", request, connection) { return answer }
      } catch {
        throw Self.refusal(error)
      }
    }
    throw HTTPRefusal(404, "There is nothing here.")
  }

  private func look(_ name: String, _ request: HTTPRequest, _ connection: HTTPConnection) throws -> HTTPAnswer? {
    switch name {
    case "summary":
      return try .json(InspectorSummary(cache: CacheSummary(of: reader), isWritable: isWritable))
    case "entries":
      let length = request.query["limit"].map { Int($0) ?? 0 } ?? 200
      guard 1...InspectorListing.greatestLength ~= length else {
        throw HTTPRefusal(400, "limit is 1 to \(InspectorListing.greatestLength).")
      }
      let listing = try InspectorListing(
        of: reader, prefix: request.query["prefix"] ?? "", search: request.query["search"] ?? "",
        after: request.query["after"].map { text throws(HTTPRefusal) in try InspectorListing.place(text) },
        length: length, isAbandoned: { connection.isAbandoned })
      return try .json(listing)
    case "entry":
      guard let entry = try InspectorEntry(forKey: try key(of: request), in: reader) else { throw Self.noEntry }
      return try .json(entry)
    case "image": return try image(forKey: key(of: request))
    case "prefixes":
      let prefix = request.query["prefix"] ?? ""
      let depth = 1 + prefix.utf8.count { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
      let census = try reader.census(
        withPrefix: prefix, depth: depth, greatestPrefixes: 300, isCancelled: { connection.isAbandoned })
      return try .json(ContentSummary(census))
    case "events": return try events()
    default: return nil
    }
  }

  private func key(of request: HTTPRequest) throws(HTTPRefusal) -> String {
    guard let key = request.query["key"] else { throw HTTPRefusal(400, "There is no key in the address.") }
    return key
  }

  static let noEntry = HTTPRefusal(404, "There is no such entry, or it has expired.")

  static let greatestImage = 16 << 20
  static let tooLargeImage = "Images of more than \(Formatting.bytes(greatestImage)) are not shown."

  /// Serves only pure image types, and tells the browser not to guess.
  private func image(forKey key: String) throws -> HTTPAnswer {
    guard let entry = try reader.entry(forKey: key) else { throw Self.noEntry }
    guard entry.size <= Self.greatestImage else {
      throw HTTPRefusal(413, Self.tooLargeImage)
    }
    guard let record = try reader.record(forKey: key) else { throw Self.noEntry }
    let data = try reader.archive(of: record)
    guard let kind = ImageKind(data) else { throw HTTPRefusal(415, "The value is no image that is shown here.") }
    return .response(HTTPResponse(type: kind.rawValue, data))
  }

  // MARK: Errors

  /// An error's text for the page, the same as for other commands.
  static func refusal(_ error: any Error) -> HTTPRefusal {
    if let refusal = error as? HTTPRefusal { return refusal }
    let known = (error as? ToolError) ?? (error as? CacheError).map { ToolError($0) }
    let status =
      switch known?.status {
      case .noInput: 404
      case .noPermission: 403
      case .busy: 503
      default: 500
      }
    return HTTPRefusal(status, known?.message ?? "\(error)")
  }
}
