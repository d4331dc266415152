import Foundation
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct DateTests {
  struct Event: Codable, Identifiable, Equatable {
    var id = "a"
    var date: Date
  }

  @Test(arguments: [
    (-1_609_441_200.0, "1950-01-01T05:00:00Z"), (0, "2001-01-01T00:00:00Z"), (0.25, "2001-01-01T00:00:00.25Z"),
    (-0.5, "2000-12-31T23:59:59.5Z"), (7.5e-9, "2001-01-01T00:00:00.0000000075Z"),
    (5_097_600, "2001-03-01T00:00:00Z"), (-26_524_800, "2000-02-29T00:00:00Z"),
    (252_423_993_599, "9999-12-31T23:59:59Z"), (-12_654_403_200, "1600-01-01T00:00:00Z"),
  ])
  func theFormIsISO8601(interval: Double, text: String) throws {
    let date = Date(timeIntervalSinceReferenceDate: interval)
    #expect(ISODate.text(of: date) == text)
    #expect(ISODate.date(of: text) == date)
    if interval == interval.rounded(), abs(interval) < 2e9 { #expect(date.ISO8601Format() == text) }
  }

  @Test(arguments: [
    "1950-01-01T00:00:00-05:00", "1950-01-01T05:00:00+00:00", "1950-01-01T10:30:00+0530", "1950-01-01T05:00:00.000Z",
  ])
  func otherZonesAreRead(text: String) {
    #expect(ISODate.date(of: text)?.timeIntervalSinceReferenceDate == -1_609_441_200)
  }

  @Test(arguments: [
    "", "1950", "1950-01-01", "1950-13-01T00:00:00Z", "1950-01-01T00:00:00", "1950-01-01T00:00:00Zx",
    "1950-01-01T00:00:00.Z", "１９５０-01-01T00:00:00Z", "-950-01-01T00:00:00Z", "1950-01-01T00:00:00+5",
  ])
  func whatIsNoDateIsNone(text: String) { #expect(ISODate.date(of: text) == nil) }

  @Test func everyDateComesBackAsItIs() throws {
    let garage = Garage(with: [.inMemory])
    var random = SeededRandom(7)
    var dates = [Date.distantPast, .distantFuture, Date(), Date(timeIntervalSinceReferenceDate: 1e15)]
    dates += [Date(timeIntervalSinceReferenceDate: -1e300), Date(timeIntervalSinceReferenceDate: .infinity)]
    for _ in 0..<2_000 {
      let exponent = Double.random(in: -12...13, using: &random)
      dates.append(Date(timeIntervalSinceReferenceDate: .random(in: -1...1, using: &random) * pow(10, exponent)))
    }
    for date in dates {
      try garage.park(Event(date: date))
      #expect(try garage.retrieve(Event.self, identifier: "a")?.date == date)
    }
  }

  static let encoding: [(String, JSONEncoder.DateEncodingStrategy, JSONDecoder.DateDecodingStrategy)] = {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyy/MM/dd"
    return [
      ("63072000", .deferredToDate, .deferredToDate),
      ("1041379200", .secondsSince1970, .secondsSince1970),
      ("1041379200000", .millisecondsSince1970, .millisecondsSince1970),
      (#""2003-01-01T00:00:00Z""#, .iso8601, .iso8601),
      (#""2003\/01\/01""#, .formatted(formatter), .formatted(formatter)),
      (
        #"{"y":2003}"#,
        .custom { _, encoder in
          var container = encoder.container(keyedBy: NameKey.self)
          try container.encode(2003, forKey: NameKey("y"))
        },
        .custom { decoder in
          let container = try decoder.container(keyedBy: NameKey.self)
          #expect(try container.decode(Int.self, forKey: NameKey("y")) == 2003)
          return Date(timeIntervalSinceReferenceDate: 63_072_000)
        }
      ),
    ]
  }()

  @Test(arguments: encoding.indices)
  func aStrategyHoldsForItsClosure(index: Int) throws {
    let (text, encoding, decoding) = Self.encoding[index]
    let garage = Garage(with: [.inMemory])
    let event = Event(date: Date(timeIntervalSinceReferenceDate: 63_072_000))
    try garage.withDateEncodingStrategy(encoding) { try garage.park(event) }
    let stored = try #require(try garage.content(Event.self, "a"))
    #expect(stored.replacing(".0", with: "") == "{\"date\":\(text.replacing("\\/", with: "/")),\"id\":\"a\"}")
    #expect(try garage.withDateDecodingStrategy(decoding) { try garage.retrieve(Event.self, identifier: "a") } == event)
    try garage.park(event)
    #expect(try garage.content(Event.self, "a") == #"{"date":"2003-01-01T00:00:00Z","id":"a"}"#)
    #expect(try garage.retrieve(Event.self, identifier: "a") == event)
  }

  @Test func aStrategyIsItsThreadsAndEndsWithAnError() throws {
    struct Stop: Error {}
    let garage = Garage(with: [.inMemory])
    let event = Event(date: Date(timeIntervalSinceReferenceDate: 0))
    garage.withDateEncodingStrategy(.secondsSince1970) {
      concurrently(1) { _ in try? garage.park(event) }
    }
    #expect(try garage.content(Event.self, "a") == #"{"date":"2001-01-01T00:00:00Z","id":"a"}"#)
    #expect(throws: Stop.self) { try garage.withDateEncodingStrategy(.secondsSince1970) { throw Stop() } }
    try garage.park(event)
    #expect(try garage.content(Event.self, "a") == #"{"date":"2001-01-01T00:00:00Z","id":"a"}"#)
  }

  @Test func theOriginalsDatesOfMappedObjectsAreRead() throws {
    let garage = Garage(with: [.inMemory])
    try garage.put(
      #"""
      {"id":"a","date":{"gs_type":"gs_transformableType","gs_transformableType":"gs_transformableDate",
      "gs_transformableData":"1950-01-01T00:00:00-05:00"}}
      """#, type: Event.self, "a")
    #expect(
      try garage.retrieve(Event.self, identifier: "a")?.date.timeIntervalSinceReferenceDate == -1_609_441_200)
  }
}
