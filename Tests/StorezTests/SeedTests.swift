import Foundation
import Storez
import Testing

// Conversions in the spelling of the blog post on type safety in Storez.

/// The post's spelling of a conversion, for the library's store.
private struct CustomObject: Equatable, UserDefaultsConvertible {
  var strings: [String]

  typealias UnderlyingType = NSString

  static func decode(value: UnderlyingType) -> CustomObject? {
    CustomObject(strings: String(describing: value).components(separatedBy: ";"))
  }

  var encode: UnderlyingType? { NSString(string: strings.joined(separator: ";")) }
}

private enum Mode: Int, UserDefaultsConvertible {
  case day, night

  static func decode(value: NSNumber) -> Mode? { Mode(rawValue: value.intValue) }
  var encode: NSNumber? { NSNumber(value: rawValue) }
}

/// Implements neither spelling.
private struct Empty: UserDefaultsConvertible {
  typealias UserDefaultsType = NSString
}

struct SeedTests {
  @Test func aConversionThatIsNotImplementedIsReported() {
    let suite = TemporarySuite()
    let key = Key<GlobalNamespace, Empty?>(id: "empty", defaultValue: nil)
    #expect(throws: StorezFailure.self) { try suite.store.throwing { $0.set(key, value: Empty()) } }
    #expect(suite.store.defaults.object(forKey: "empty") == nil)
  }

  @Test func thePostsConversionInTheLibrarysStore() {
    let suite = TemporarySuite()
    let key = Key<GlobalNamespace, CustomObject?>(id: "custom", defaultValue: nil)
    suite.store.set(key, value: CustomObject(strings: ["fill", "in"]))
    #expect(suite.store.get(key) == CustomObject(strings: ["fill", "in"]))
    // An enumeration can conform.
    let mode = Key<GlobalNamespace, Mode>(id: "mode", defaultValue: .day)
    #expect(suite.store.get(mode) == .day)
    suite.store.set(mode, value: .night)
    #expect(suite.store.get(mode) == .night)
  }
}
