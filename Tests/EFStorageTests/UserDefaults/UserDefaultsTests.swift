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

  /// In a process of its own, since other tests have the defaults of all.
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
    #expect(process.readRemaining() == ["replaced"])
  }

  @Test func unreadableContentIsKept() throws {
    let temporary = TemporaryDefaults()
    temporary.defaults.set("text", forKey: "defaults.unreadable")
    let failures = Failures(of: "defaults.unreadable")
    let property = EFStorageUserDefaults(
      wrappedValue: 5, forKey: "defaults.unreadable", in: temporary.defaults, persistDefaultContent: true)
    #expect(property.wrappedValue == 5)
    #expect(temporary.defaults.string(forKey: "defaults.unreadable") == "text")
    #expect(Set(failures.kinds) == [.loading])
    #expect(property._ref.lastFailure?.kind == .loading)
  }

  @Test func failedConversionChangesNothing() throws {
    final class Alien: NSObject, NSCoding, AsIsUserDefaultsStorable {
      override init() {}
      required init?(coder: NSCoder) {}
      func encode(with coder: NSCoder) {}
      func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .success(self) }
      static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? { nil }
    }
    let temporary = TemporaryDefaults()
    temporary.defaults.set("there", forKey: "alien")
    let failures = Failures(of: "alien")
    // Foundation on Linux would end the process.
    EFStorageUserDefaultsRef<Alien>.forKey("alien", in: temporary.defaults).content = Alien()
    #expect(failures.kinds == [.conversion])
    #expect(temporary.defaults.string(forKey: "alien") == "there")
  }

  #if !canImport(Darwin)
    /// Foundation's archiver on Linux ends the process for it, so that this is for one of its own.
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

  @Test func nilRemoves() {
    let temporary = TemporaryDefaults()
    @EFStorageUserDefaults(forKey: "name", in: temporary.defaults) var name: String?
    #expect(name == nil)
    name = "somebody"
    #expect(temporary.defaults.string(forKey: "name") == "somebody")
    name = nil
    #expect(temporary.defaults.object(forKey: "name") == nil && name == nil)
  }

  @Test(arguments: [
    ("number as text", "5" as any Sendable), ("fraction", 1.5), ("too large", 300), ("negative", -1), ("truth", true),
    ("list", [1]),
  ])
  func noIntegerOfEightBits(name: String, object: any Sendable) {
    let temporary = TemporaryDefaults()
    _ = Failures()
    temporary.defaults.set(object, forKey: "key")
    #expect(EFStorageUserDefaultsRef<UInt8>.forKey("key", in: temporary.defaults).content == nil, "\(name)")
  }

  @Test func defaultCanBeSet() {
    let temporary = TemporaryDefaults()
    #expect(UserDefaults.defaultForEFStorage === UserDefaults.standard)
    let cache = EFStorageUserDefaultsRef<Int>.forKey("default", in: temporary.defaults)
    cache.content = 3
    #expect(temporary.defaults.efStorage.default as Int? == 3)
  }
}
