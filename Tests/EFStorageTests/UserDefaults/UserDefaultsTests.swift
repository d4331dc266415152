import EFStorageUserDefaults
import Foundation
import TestSupport
import Testing

private enum Outer {
  final class Inner: NSObject, NSCoding {
    override init() {}
    required init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
  }
}

struct UserDefaultsTests {
  @Test func everyTypeReachesASecondProcess() throws {
    let temporary = TemporaryDefaults()
    let writer = try ChildProcess("EFStorageTestProcess", ["write-defaults", temporary.suite])
    #expect(writer.readRemaining() == [])
    let reader = try ChildProcess("EFStorageTestProcess", ["read-defaults", temporary.suite])
    #expect(reader.readRemaining() == ["compared"])
  }

  /// Uses a child process, because the standard defaults are shared with other tests.
  @Test func sharedDefaultsAreTheDefaultOfAll() async {
    await #expect(processExitsWith: .success) {
      let temporary = TemporaryDefaults()
      let shared = temporary.defaults
      UserDefaults.shared = shared
      @EFStorageUserDefaults(forKey: "shared.property") var property = 0
      property = 7
      UserDefaults.efStorage.sharedMember = "m"
      #expect(shared.integer(forKey: "shared.property") == 7 && shared.string(forKey: "sharedMember") == "m")
      #expect(UserDefaults.makeDefault() === shared && UserDefaults.defaultForEFStorage === shared)
      #expect(UserDefaults.standard.object(forKey: "shared.property") == nil)
    }
  }

  @Test func replacedDefaultsAndHooks() throws {
    let directory = try TemporaryDirectory()
    let process = try ChildProcess("EFStorageTestProcess", ["replacements", directory.url.path])
    #expect(
      process.readRemaining() == [
        "cache, defaults, nothing", "defaults, cache",
        "defaults conversion, defaults load, cache conversion, cache load, cache storage",
      ])
  }

  #if !canImport(Darwin)
    /// Foundation's archiver on Linux ends the process for it, so a child process tries it.
    @Test func whatHoldsAnObjectThatHasNoNameIsReported() async {
      await #expect(processExitsWith: .success) {
        let temporary = TemporaryDefaults()
        let failures = Failures(of: "holder")
        let reference = EFStorageUserDefaultsRef<NSArray>.forKey("holder", in: temporary.defaults)
        reference.content = NSArray(array: [NSNumber(value: 1)])
        reference.content = NSArray(array: [Outer.Inner()])
        reference.content = NSArray(array: [NSDictionary(dictionary: ["key": NSArray(array: [Outer.Inner()])])])
        reference.content = NSArray(array: [NSDecimalNumber(string: "1.5")])
        #expect(failures.kinds == [.conversion, .conversion, .conversion])
        #expect(reference.content == NSArray(array: [NSNumber(value: 1)]))
      }
    }
  #endif

  private func reads<Content: UserDefaultsStorable & Equatable>(
    _ object: Any, _ content: Content?, _ foundation: (UserDefaults) -> Content? = { _ in nil },
    location: SourceLocation = #_sourceLocation
  ) {
    let temporary = TemporaryDefaults()
    // Set like launch arguments, which are not limited to property lists.
    temporary.defaults.setVolatileDomain(["read": object], forName: UserDefaults.argumentDomain)
    let found = EFStorageUserDefaultsRef<Content>.forKey("read", in: temporary.defaults).content
    let foundation = foundation(temporary.defaults)
    #expect(found == content && (foundation == nil || foundation == content), sourceLocation: location)
    #expect(
      EFStorageUserDefaultsRef<Content?>.forKey("read", in: temporary.defaults).content == content.map(Optional.some))
  }

  /// Launch arguments, and values written by other code.
  @Test func whatFoundationReadsIsRead() {
    let failures = Failures(of: "read")
    for text in ["YES", "yes", "Y", "true", "T", "1", "2"] { reads(text, true) { $0.bool(forKey: "read") } }
    for text in ["NO", "no", "false", "0"] { reads(text, false) { $0.bool(forKey: "read") } }
    for number in [1, 2, -1] { reads(number, true) { $0.bool(forKey: "read") } }
    reads(0.5, true) { $0.bool(forKey: "read") }
    reads("20", 20) { $0.integer(forKey: "read") }
    reads("+20", 20) { $0.integer(forKey: "read") }
    reads("-7", Int8(-7))
    reads("18446744073709551615", UInt64.max)
    reads(true, 1) { $0.integer(forKey: "read") }
    reads(2.0, 2)
    reads("0.7", 0.7) { $0.double(forKey: "read") }
    reads("1e3", 1e3) { $0.double(forKey: "read") }
    reads("0.7", Float(0.7)) { $0.float(forKey: "read") }
    reads(0.8, Float(0.8)) { $0.float(forKey: "read") }
    reads(Float(0.7), Double(Float(0.7))) { $0.double(forKey: "read") }
    reads(5, 5.0) { $0.double(forKey: "read") }
    reads(CGFloat(1.5), 1.5)
    reads(1.5, CGFloat(1.5))
    reads("/tmp/a b", URL(fileURLWithPath: "/tmp/a b")) { $0.url(forKey: "read") }
    reads("~/a", URL(fileURLWithPath: NSHomeDirectory() + "/a")) { $0.url(forKey: "read") }
    reads("https://example.org/a?b", URL(string: "https://example.org/a?b"))
    reads(Date(timeIntervalSince1970: 5), Date(timeIntervalSince1970: 5))
    reads("1.25", Decimal(string: "1.25"))
    reads(1.25, Decimal(string: "1.25"))
    reads(["1", "2"], [1, 2])
    reads(["1"], Set([1]))
    UserDefaults.standard.register(defaults: ["registered": NSNumber(value: 3 as Int8)])
    #expect(EFStorageUserDefaultsRef<UInt>.forKey("registered", in: .standard).content == 3)
    #expect(failures.all.isEmpty)
    for object in ["5x", "1.5", "-1", "0x1", "", 1.5, 300, 1e300, -1, [1]] as [Any] { reads(object, UInt8?.none) }
    reads("maybe", Bool?.none as Bool?)
    reads(1e300, Float?.none as Float?)
    reads("1.5x", Decimal?.none as Decimal?)
    reads("2020", Date?.none as Date?)
    reads(["a", "b"], [String: String]?.none as [String: String]?)
    #expect(!failures.all.isEmpty)
  }

  #if !canImport(Darwin)
    /// Foundation drops such a key when it reads the file, so it would collide with another.
    @Test func aKeyThatFoundationChangesIsRefused() throws {
      let temporary = TemporaryDefaults()
      let failures = Failures(of: "\u{feff}key")
      let reference = EFStorageUserDefaultsRef<Int>.forKey("\u{feff}key", in: temporary.defaults)
      #expect(throws: EFStorageFailure.self) { try reference.storeContent(1) }
      #expect(failures.kinds == [.conversion] && temporary.defaults.object(forKey: "\u{feff}key") == nil)
    }
  #endif
}
