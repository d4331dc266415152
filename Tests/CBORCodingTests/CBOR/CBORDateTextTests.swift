import Foundation
import Testing

@testable import CBORCoding

@Suite struct CBORDateTextTests {
  func decoded(_ text: String) throws -> Date {
    try CBORDecoder().decode(Date.self, from: Data(CBORItem.tag(0, .text(text)).encoded))
  }

  @Test(arguments: [
    ("2013-03-21T20:04:00Z", 1_363_896_240), ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59Z", -1),
    ("2001-01-01T00:00:00z", 978_307_200), ("2013-03-21t20:04:00.5Z", 1_363_896_240.5),
    ("2013-03-21T20:04:00.000000000000000000000000000000000000000000000000000000000000001Z", 1_363_896_240),
    ("1985-04-12T23:20:50.52Z", 482_196_050.52), ("1996-12-19T16:39:57-08:00", 851_042_397),
    ("1996-12-20T00:39:57-00:00", 851_042_397), ("1937-01-01T12:00:27.87+00:20", -1_041_337_172.13),
    ("1990-12-31T23:59:60Z", 662_688_000), ("1990-12-31T15:59:60-08:00", 662_688_000),
    ("2024-02-29T00:00:00Z", 1_709_164_800), ("2000-02-29T12:00:00+23:59", 951_739_260),
    ("2024-12-31T00:00:00Z", 1_735_603_200), ("0000-01-01T00:00:00Z", -62_167_219_200),
    ("0000-02-29T00:00:00Z", -62_162_121_600), ("0001-01-01T00:00:00Z", -62_135_596_800),
    ("9999-12-31T23:59:59Z", 253_402_300_799),
  ])
  func aDateIsRead(_ text: String, _ epoch: Double) throws {
    let offset = Date.timeIntervalBetween1970AndReferenceDate
    // From the whole seconds, so that nothing is rounded twice.
    let whole = epoch.rounded(.down)
    let seconds = try decoded(text).timeIntervalSinceReferenceDate - (whole - offset)
    #expect(whole == epoch ? seconds == 0 : abs(seconds - (epoch - whole)) < 1e-6)
  }

  @Test func everyDayIsTheCalendars() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    for year in [1583, 1600, 1700, 1899, 1900, 1969, 1970, 1972, 2000, 2001, 2023, 2024, 2100, 2400] {
      for month in 1...12 {
        for day in 1...32 {
          let parts = DateComponents(year: year, month: month, day: day, hour: 1)
          let text = "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)T01:00:00Z"
          let expected = parts.isValidDate(in: calendar) ? calendar.date(from: parts) : nil
          #expect(RFC3339Date.date(of: text) == expected, "\(text)")
        }
      }
    }
  }

  @Test(arguments: [
    "", "2013", "2013-03-21", "2013-03-21 20:04:00Z", "2013-03-21T20:04Z", "2013-03-21T20:04:00", "13-03-21T20:04:00Z",
    "2013-3-21T20:04:00Z", "2013-03-21T20:04:00.Z", "2013-03-21T20:04:00,5Z", "2013-03-21T20:04:00+0100",
    "2013-03-21T20:04:00+1:00", "2013-03-21T20:04:00+24:00", "2013-03-21T20:04:00+01:60", "2013-03-21T20:04:00Z ",
    " 2013-03-21T20:04:00Z", "2013-03-21T20:04:00ZZ", "2013-00-21T20:04:00Z", "2013-13-21T20:04:00Z",
    "2013-03-00T20:04:00Z", "2013-03-32T20:04:00Z", "2013-02-29T20:04:00Z", "2100-02-29T20:04:00Z",
    "2013-04-31T20:04:00Z", "2013-03-21T24:00:00Z", "2013-03-21T20:60:00Z", "2013-03-21T20:04:61Z",
    "-013-03-21T20:04:00Z", "+2013-03-21T20:04:00Z", "12013-03-21T20:04:00Z", "٢٠١٣-03-21T20:04:00Z",
    "2013-03-21T20:04:00.5e300Z", "2013-03-21T20:04:00.inf", "2013-03-21T20:04:00.0x1Z", "2013-03-21T20:04:00\u{0}Z",
    String(repeating: "9", count: 100_000), "2013-03-21T20:04:00." + String(repeating: "9", count: 100_000),
  ])
  func whatIsNoDateIsAnError(_ text: String) throws {
    let error = #expect(throws: DecodingError.self) { try decoded(text) }
    guard case .dataCorrupted(let context)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(context.debugDescription.contains("RFC 3339") && context.debugDescription.utf8.count < 300)
  }

  /// Tag 0 around other items, text in two parts, and other tags.
  @Test(
    arguments: [
      ("c000", nil), ("c0c100", nil), ("c0f6", nil), ("c080", nil), ("c04130", nil), ("c0fb3ff8000000000000", nil),
      ("c07f6a313937302d30312d30316a5430303a30303a30315aff", 1),
      ("d9d9f7c0d9d9f774313937302d30312d30315430303a30303a30315a", 1),
    ] as [(String, Double?)])
  func taggedItems(_ hex: String, _ epoch: Double?) {
    let date = try? CBORDecoder().decode(Date.self, from: Data([UInt8](hex: hex)))
    #expect(date?.timeIntervalSince1970 == epoch)
  }
}
