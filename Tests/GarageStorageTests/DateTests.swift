import Foundation
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct DateTests {
  let garage = Garage(with: [.inMemory])

  struct Event: Codable, Identifiable, Equatable {
    var id = "a"
    var date: Date

    init(_ interval: Double) { date = Date(timeIntervalSinceReferenceDate: interval) }
  }

  @Test(arguments: [
    (-1_609_441_200.0, "1950-01-01T05:00:00Z"), (0, "2001-01-01T00:00:00Z"), (0.25, "2001-01-01T00:00:00.25Z"),
    (-0.5, "2000-12-31T23:59:59.5Z"), (7.5e-9, "2001-01-01T00:00:00.0000000075Z"),
    (5_097_600, "2001-03-01T00:00:00Z"), (-26_524_800, "2000-02-29T00:00:00Z"),
    (252_423_993_599, "9999-12-31T23:59:59Z"), (-12_654_403_200, "1600-01-01T00:00:00Z"),
  ])
  func theFormIsISO8601(interval: Double, text: String) throws {
    try garage.park(Event(interval))
    #expect(try garage.content(Event.self, "a") == #"{"date":"\#(text)","id":"a"}"#)
    #expect(try garage.retrieve(Event.self, identifier: "a") == Event(interval))
  }

  /// Also the form of the original's mapped objects.
  @Test(arguments: [
    #""1950-01-01T00:00:00-05:00""#, #""1950-01-01T05:00:00+00:00""#, #""1950-01-01T10:30:00+0530""#,
    #""1950-01-01T05:00:00.000Z""#,
    #"""
    {"gs_type":"gs_transformableType","gs_transformableType":"gs_transformableDate",
    "gs_transformableData":"1950-01-01T00:00:00-05:00"}
    """#,
  ])
  func otherFormsAreRead(text: String) throws {
    try garage.put(#"{"id":"a","date":\#(text)}"#, type: Event.self, "a")
    #expect(try garage.retrieve(Event.self, identifier: "a") == Event(-1_609_441_200))
  }

  @Test(arguments: [
    "", "1950", "1950-01-01", "1950-13-01T00:00:00Z", "1950-01-01T00:00:00", "1950-01-01T00:00:00Zx",
    "1950-01-01T00:00:00.Z", "１９５０-01-01T00:00:00Z", "-950-01-01T00:00:00Z", "1950-01-01T00:00:00+5",
  ])
  func otherTextIsAnError(text: String) throws {
    try garage.put(#"{"id":"a","date":"\#(text)"}"#, type: Event.self, "a")
    #expect(failure { try garage.retrieve(Event.self, identifier: "a") }?.code == .undecodable)
  }

  @Test func everyDateComesBackAsItIs() throws {
    var random = SeededRandom(7)
    var events = [Date.distantPast, .distantFuture, Date()].map { Event($0.timeIntervalSinceReferenceDate) }
    events += [1e15, -1e300, .infinity].map { Event($0) }
    for _ in 0..<2_000 {
      let exponent = Double.random(in: -12...13, using: &random)
      events.append(Event(.random(in: -1...1, using: &random) * pow(10, exponent)))
    }
    for event in events {
      try garage.park(event)
      #expect(try garage.retrieve(Event.self, identifier: "a") == event)
    }
  }

  static let strategies: [(JSONEncoder.DateEncodingStrategy, JSONDecoder.DateDecodingStrategy)] = {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyy/MM/dd"
    return [
      (.deferredToDate, .deferredToDate), (.secondsSince1970, .secondsSince1970),
      (.millisecondsSince1970, .millisecondsSince1970), (.iso8601, .iso8601),
      (.formatted(formatter), .formatted(formatter)),
      (
        .custom { _, encoder in try [2003].encode(to: encoder) },
        .custom { decoder throws in
          #expect(try [Int](from: decoder) == [2003])
          return Date(timeIntervalSinceReferenceDate: 63_072_000)
        }
      ),
    ]
  }()

  @Test(arguments: strategies.indices)
  func aStrategyHoldsForItsClosureAndThread(index: Int) throws {
    struct Stop: Error {}
    let (encoding, decoding) = Self.strategies[index]
    let event = Event(63_072_000)
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = encoding
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let expected = String(decoding: try encoder.encode(event), as: UTF8.self)
    func content() throws -> String? { try garage.content(Event.self, "a")?.replacing(".0", with: "") }
    try garage.withDateEncodingStrategy(encoding) { try garage.park(event) }
    #expect(try content() == expected)
    #expect(try garage.withDateDecodingStrategy(decoding) { try garage.retrieve(Event.self, identifier: "a") } == event)
    let plain = #"{"date":"2003-01-01T00:00:00Z","id":"a"}"#
    garage.withDateEncodingStrategy(encoding) {
      concurrently(1) { _ in try? garage.park(event) }
    }
    #expect(try content() == plain)
    #expect(throws: Stop.self) { try garage.withDateEncodingStrategy(encoding) { throw Stop() } }
    try garage.park(event)
    #expect(try content() == plain)
    #expect(try garage.retrieve(Event.self, identifier: "a") == event)
  }
}
