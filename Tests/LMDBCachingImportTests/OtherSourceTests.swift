import Foundation
import LMDBCaching
import LMDBCachingImport
import Testing

/// Folders of files, stores of PINCache, and property lists of user defaults.
@Suite struct OtherSourceTests {
  let place = Place()

  private func run(_ source: ImportSource, into cache: LMDBCache) throws -> ImportReport {
    try CacheImport(from: source).run(into: cache)
  }

  // MARK: Files

  @Test func pathsAreKeysAndTheLastChangeIsCreatedAndAccessed() throws {
    let modified = Date(timeIntervalSince1970: 1_650_000_000)
    let long = Data(repeating: 7, count: 3 << 20)
    let files = ["a": Data([1]), "folder/.d": Data([2]), ".hidden": Data(), "folder/deeper/c": long]
    for (name, bytes) in files { try place.write(bytes, to: "store/" + name, modified: modified) }
    let cache = try place.cache { $0.clock = .manual(ManualClock(date: Date(timeIntervalSince1970: 1_700_000_000))) }
    #expect(try run(.files(in: place.store), into: cache).taken == files.count)
    for (name, bytes) in files {
      #expect(try cache.value(Data.self, forKey: name) == bytes)
      let entry = try #require(try cache.entry(forKey: name))
      #expect(entry.created == modified && entry.lastAccess == modified)
    }
  }

  @Test func whatIsNoFileIsNotOpened() throws {
    try place.write([1], to: "store/file")
    try place.write([2], to: "outside/secret")
    #expect(symlink(place.path("outside/secret"), place.path("store/link")) == 0)
    #expect(symlink(place.path("outside"), place.path("store/folder link")) == 0)
    #expect(symlink("..", place.path("store/circle")) == 0)
    #expect(mkfifo(place.path("store/fifo"), 0o600) == 0)
    let cache = try place.cache()
    let report = try run(.files(in: place.store), into: cache)
    #expect(report.taken == 1 && report.refused == 4 && report.refusalCounts == [.notAFile: 4])
    #expect(try cache.entries().map(\.key) == ["file"])
  }

  @Test func namesThatAreNoTextAreRefused() throws {
    try place.write([1], to: "store/fine")
    let made = ([UInt8](place.store.path.utf8) + [0x2F, 0xFF, 0x61, 0]).withUnsafeBytes {
      open($0.baseAddress!.assumingMemoryBound(to: CChar.self), O_CREAT | O_WRONLY, 0o600)
    }
    // Some file systems reject such names.
    guard made >= 0 else { return }
    close(made)
    let report = try run(.files(in: place.store), into: place.cache())
    #expect(report.taken == 1 && report.refusalCounts == [.unreadableKey: 1])
  }

  /// The cache may be inside the source directory, or the directory itself.
  @Test func theCacheIsNotImportedIntoItself() throws {
    try place.write([1], to: "file")
    let cache = try place.cache()
    let report = try run(.files(in: place.url), into: cache)
    #expect(report.taken == 1 && report.refused == 0)
    #expect(try cache.entries().map(\.key) == ["file"])
    #expect(importErrorCode { try run(.files(in: cache.directory), into: cache) } == .invalidArgument)
  }

  // MARK: PINCache

  @Test func namesAreDecoded() throws {
    let keys = ["https://example.org/a.png?x=%20", ".hidden", "..", "ключ", "a\nb", "100%", "%2E"]
    for key in keys { try PINCacheWriter.add(key, archive(NSString(string: key)), to: place) }
    let cache = try place.cache()
    #expect(try run(.pinCache(directory: place.store), into: cache).taken == keys.count)
    for key in keys { #expect(try cache.value(String.self, forKey: key) == key) }
  }

  @Test func whatIsNoEntryIsLeft() throws {
    try PINCacheWriter.add("key", archive(NSString("x")), to: place)
    // Not one of PINCache's files, since it encodes dots.
    try place.write([1], to: "store/.DS_Store")
    try place.write([1], to: "store/folder/file")
    try place.write(archive(NSString("y")), to: "store/100%")
    try place.write(archive(NSString("y")).dropLast(9), to: "store/cut")
    #expect(symlink(place.path("store/key"), place.path("store/link")) == 0)
    #expect(mkfifo(place.path("store/fifo"), 0o600) == 0)
    let cache = try place.cache()
    let report = try run(.pinCache(directory: place.store), into: cache)
    #expect(report.taken == 1 && report.refused == 5 && report.examined == 6)
    #expect(
      reasons(report) == [
        "folder": .notAFile, "100%": .unreadableKey, "cut": .damagedValue, "link": .notAFile, "fifo": .notAFile,
      ])
    #expect(try cache.entries().map(\.key) == ["key"])
  }

  @Test func limitsOfAgeAreExpiries() throws {
    let modified = Date(timeIntervalSince1970: 1_699_999_000)
    let limits: [(String, Double)] = [
      ("short", 999), ("exact", 1_000), ("long", 2_000), ("none", 0), ("negative", -5), ("endless", .infinity),
      ("no number", .nan), ("huge", 1e300),
    ]
    for (key, seconds) in limits {
      let path = try PINCacheWriter.add(key, archive(NSString("x")), to: place)
      guard PINCacheWriter.setAgeLimit(seconds, of: path) else { return }
      try FileManager.default.setAttributes([.modificationDate: modified], ofItemAtPath: path)
    }
    let cache = try place.cache { $0.clock = .manual(ManualClock(date: Date(timeIntervalSince1970: 1_700_000_000))) }
    let report = try run(.pinCache(directory: place.store), into: cache)
    #expect(report.expired == 2 && report.taken == 6)
    let entries = try cache.entries()
    #expect(entries.allSatisfy { $0.lastAccess == modified && $0.created <= modified })
    let expirations = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.expiration) })
    #expect(expirations["long"] == Date(timeIntervalSince1970: 1_700_001_000))
    for key in ["none", "negative", "no number"] { #expect(expirations[key] == .some(nil), "\(key)") }
    for key in ["endless", "huge"] { #expect(try #require(expirations[key] ?? nil) > Date(timeIntervalSince1970: 9e9)) }
  }

  // MARK: User defaults

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
    let report = try run(.userDefaults(file: place.store), into: cache)
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
    let code = importErrorCode { try run(.userDefaults(file: place.store), into: place.cache()) }
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
    let report = try run(.userDefaults(file: place.store), into: cache)
    #expect(report.isComplete && report.taken == 2)
    #expect(report.refusalCounts == [.damagedValue: 2, .unreadableKey: 1])
    #expect(try cache.value(Int.self, forKey: "good") == 1 && cache.value(Bool.self, forKey: "last") == true)
  }

  @Test func aLinkThatIsGivenIsFollowed() throws {
    try place.write("<plist><dict><key>a</key><true/></dict></plist>".utf8, to: "elsewhere/real.plist")
    #expect(symlink(place.path("elsewhere/real.plist"), place.store.path) == 0)
    #expect(try run(.userDefaults(file: place.store), into: place.cache()).taken == 1)
  }
}
