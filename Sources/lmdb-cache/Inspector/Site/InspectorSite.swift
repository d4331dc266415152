import ArgumentParser
import Foundation
import LMDBCaching
import Synchronization

struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "serve", "Shows a cache in a browser: its entries and their values, what takes up space, and what is being done.",
    """
    Prints the address of a page and serves it until Ctrl-C. The server listens on 127.0.0.1 only, and the address \
    contains a secret: anybody who has it can read the whole cache. The page loads nothing from elsewhere.

    Reads the cache without opening it, and changes nothing. With --writable the page can remove entries and trim the \
    cache, after a confirmation.

    Examples:
      lmdb-cache serve --cache ./demo
      lmdb-cache serve --port 8080 --writable --cache ./demo
    """)

  @OptionGroup var option: CacheOption
  @Option(help: "The port to listen on. (default: one that is free)") var port: UInt16?
  @Flag(help: "Lets the page remove entries and trim the cache.") var writable = false

  func run() throws {
    let events = try TerminalEvents(fillsScreen: false)
    // Makes writing to a closed connection an error instead of a signal.
    signal(SIGPIPE, SIG_IGN)
    try option.withReader { reader in
      let server = try HTTPServer(port: port ?? 0)
      let site = InspectorSite(reader, cache: option.cache, isWritable: writable, port: server.port)
      server.start { (request) throws(HTTPRefusal) in
        try site.admit(request)
      } answer: { (request, connection) throws(HTTPRefusal) in
        try site.answer(request, connection)
      }
      try StandardOutput.write(site.address + "\n")
      while events.next(within: 3_600_000_000_000) != .end {}
      site.finishChanges()
    }
  }
}

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
      return try .json(InspectorSummary(cache: Report(reader), isWritable: isWritable))
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
    let known = ToolError(any: error)
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

extension InspectorSite {
  private static let greatestStreams = 16
  private static let interval: Int32 = 1_000

  /// Every second's activity of all processes, like `top`, as server-sent events.
  func events() throws -> HTTPAnswer {
    guard let place = StreamPlace(of: streams, Self.greatestStreams) else {
      throw HTTPRefusal(503, "The page is open too often already.")
    }
    let response = HTTPResponse(type: "text/event-stream; charset=utf-8", Data())
    return .stream(response) { [self] connection throws(SocketEnd) in
      defer { withExtendedLifetime(place) {} }
      var meter = ActivityMeter()
      while true {
        try connection.write(Data(event(&meter).utf8))
        if connection.isAbandoned(within: Self.interval) { return }
      }
    }
  }

  private func event(_ meter: inout ActivityMeter) -> String {
    let directory = reader.directory.path
    do {
      let activity = try CacheOpening.looking { try CacheActivity.read(path: directory) }
      let sample = TopSample(directory: directory, activity, meter.update(with: activity))
      return "event: sample\ndata: \(try JSONOutput.encode(sample, pretty: false))\n\n"
    } catch {
      // The cache may be recreated. A message is one line, or it would become several fields.
      let message = Formatting.key(Self.refusal(error).message)
      return "event: trouble\ndata: \(message)\n\n"
    }
  }
}

/// One of a limited number of stream places. Released with its last reference, even if the stream never began.
final class StreamPlace: Sendable {
  final class Count: Sendable {
    fileprivate let value = Atomic<Int>(0)
  }

  private let count: Count

  /// Returns `nil` if all places are taken.
  init?(of count: Count, _ greatest: Int) {
    guard count.value.add(1, ordering: .relaxed).newValue <= greatest else {
      count.value.subtract(1, ordering: .relaxed)
      return nil
    }
    self.count = count
  }

  deinit { count.value.subtract(1, ordering: .relaxed) }
}

/// The page's files, which are compiled into the program.
enum InspectorPage {
  /// The document loads only its own files, talks only to its own server, and cannot be framed. Text never becomes
  /// script or markup, whatever the files do.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

  private static let files: [String: [UInt8]] = [
    "style.css": PackageResources.style_css, "icon.svg": PackageResources.icon_svg,
    "main.js": PackageResources.main_js, "dom.js": PackageResources.dom_js, "server.js": PackageResources.server_js,
    "entries.js": PackageResources.entries_js, "entry.js": PackageResources.entry_js,
    "sizes.js": PackageResources.sizes_js, "activity.js": PackageResources.activity_js,
    "dialogs.js": PackageResources.dialogs_js,
  ]
  private static let types = [
    "css": "text/css; charset=utf-8", "svg": "image/svg+xml", "js": "text/javascript; charset=utf-8",
  ]

  static var document: HTTPResponse {
    var response = HTTPResponse(type: "text/html; charset=utf-8", Data(PackageResources.index_html))
    response.headers.append(("Content-Security-Policy", policy))
    return response
  }

  static func file(_ name: String) -> HTTPResponse? {
    files[name].map { HTTPResponse(type: types[String(name.split(separator: ".")[1])] ?? "", Data($0)) }
  }
}

/// The page's overview of a cache.
struct InspectorSummary: Encodable {
  let cache: Report
  let isWritable: Bool
  let version = ToolVersion.current
}

/// A secret of 128 random bits, as text.
struct InspectorToken: Sendable {
  let text: String

  init() {
    var generator = SystemRandomNumberGenerator()
    text = (0..<2).map { _ in
      let part = String(generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - part.count) + part
    }.joined()
  }

  /// Takes constant time.
  func matches(_ other: String) -> Bool {
    let (expected, given) = (Array(text.utf8), Array(other.utf8))
    guard given.count == expected.count else { return false }
    var difference: UInt8 = 0
    for (first, second) in zip(expected, given) { difference |= first ^ second }
    return difference == 0
  }
}
