import Foundation
import LMDBCaching

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
