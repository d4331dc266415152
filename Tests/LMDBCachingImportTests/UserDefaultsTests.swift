import Foundation
import LMDBCaching
import LMDBCachingImport
import Testing

@Suite struct UserDefaultsTests {
  let place = Place()

  private func run(_ cache: LMDBCache) throws -> ImportReport {
    try CacheImport(from: .userDefaults(file: place.store)).run(into: cache)
  }

  private struct Window: Codable, Sendable, Equatable {
    var width: Int
    var titles: [String]
  }

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.binary, .xml])
  func everyKindOfValueIsTaken(_ format: PropertyListSerialization.PropertyListFormat) throws {
    let date = Date(timeIntervalSinceReferenceDate: 600_000_000)
    let values: [String: Any] = [
      "string": "текст <&>", "int": 42, "negative": -1, "double": 2.5, "yes": true, "no": false,
      "data": Data([0, 255]),
      "date": date, "array": ["a", "b"], "dictionary": ["width": 3, "titles": ["x"]] as [String: Any],
      "nested": ["a": ["b": ["c": [1, 2]]]], "reference": ["CF$UID": 3], "empty": [String](), "": "no key",
    ]
    try place.write(
      PropertyListSerialization.data(fromPropertyList: values, format: format, options: 0), to: "store")
    let cache = try place.cache()
    let report = try run(cache)
    #expect(report.taken == values.count && report.refusals.isEmpty)
    #expect(try cache.value(String.self, forKey: "string") == "текст <&>" && cache.value(Int.self, forKey: "int") == 42)
    #expect(try cache.value(Double.self, forKey: "double") == 2.5 && cache.value(Bool.self, forKey: "yes") == true)
    #expect(try cache.value(Data.self, forKey: "data") == Data([0, 255]))
    #expect(try cache.object(forKey: "array") as? NSArray == ["a", "b"] as NSArray)
    #expect(try cache.value(String.self, forKey: "") == "no key" && cache.value(Int.self, forKey: "negative") == -1)
    #expect(try cache.value(Bool.self, forKey: "no") == false && cache.value(Date.self, forKey: "date") == date)
    #expect(try cache.value(Window.self, forKey: "dictionary") == Window(width: 3, titles: ["x"]))
    #expect(try cache.value([String: [String: [String: [Int]]]].self, forKey: "nested") == ["a": ["b": ["c": [1, 2]]]])
    #expect(try cache.value([String].self, forKey: "empty") == [])
    // It looks like a reference in an archive.
    #expect(try cache.value([String: Int].self, forKey: "reference") == ["CF$UID": 3])
  }

  /// Uses files that Foundation writes.
  @Test(arguments: [true, false]) func aSuiteIsImportedByItsNameOrAsAnObject(_ isNamed: Bool) throws {
    let name = "lmdb-import-test-" + UUID().uuidString
    let defaults = try #require(UserDefaults(suiteName: name))
    defaults.set("dark", forKey: "theme")
    defaults.set(["a": 1], forKey: "counts")
    if isNamed { #expect(defaults.synchronize()) }
    let cache = try place.cache()
    let report = try CacheImport(from: isNamed ? .userDefaults(named: name) : .userDefaults(defaults)).run(into: cache)
    UserDefaults.standard.removePersistentDomain(forName: name)
    // An object also has what the process registers.
    #expect(isNamed ? report.taken == 2 : report.taken >= 2)
    #expect(try cache.value(String.self, forKey: "theme") == "dark")
    #expect(try cache.value([String: Int].self, forKey: "counts") == ["a": 1])
  }

  @Test(arguments: [
    "", "bplist00", "<plist><array/></plist>", "<plist><dict><key>a</key></dict></plist>",
    "<plist><dict><key>a</key><date>yesterday</date></dict></plist>",
    "<!DOCTYPE plist [<!ENTITY x \"y\">]><plist><dict/></plist>",
    "<plist><dict><key>a</key>" + String(repeating: "<array>", count: 100_000),
  ])
  func whatIsNoDictionaryIsAnError(_ text: String) throws {
    try place.write(text.utf8, to: "store")
    let code = importErrorCode { try run(place.cache()) }
    #expect(code == .damagedSource || code == .foreignSource)
  }

  @Test func aDeepValueAndALongKeyAreRefusedAlone() throws {
    let deep = [130, 400].map { depth in
      "<key>deep \(depth)</key>" + String(repeating: "<array>", count: depth)
        + String(repeating: "</array>", count: depth)
    }
    let long = "<key>\(String(repeating: "k", count: 16 << 20 + 1))</key><true/>"
    try place.write(
      "<plist><dict><key>good</key><integer>1</integer>\(deep.joined())\(long)<key>last</key><true/></dict></plist>"
        .utf8,
      to: "store")
    let cache = try place.cache()
    let report = try run(cache)
    #expect(report.isComplete && report.taken == 2)
    #expect(report.refusalCounts == [.damagedValue: 2, .unreadableKey: 1])
    #expect(try cache.value(Int.self, forKey: "good") == 1 && cache.value(Bool.self, forKey: "last") == true)
  }

  @Test func aLinkThatIsGivenIsFollowed() throws {
    try place.write("<plist><dict><key>a</key><true/></dict></plist>".utf8, to: "elsewhere/real.plist")
    #expect(symlink(place.path("elsewhere/real.plist"), place.store.path) == 0)
    #expect(try run(place.cache()).taken == 1)
  }
}
