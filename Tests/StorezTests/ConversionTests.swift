import Foundation
import Storez
import Testing

// Conversions in the spelling of the original's blog post.

private struct Converted: Equatable, UserDefaultsConvertible {
  var strings: [String]

  typealias UnderlyingType = NSString

  static func decode(value: UnderlyingType) -> Converted? {
    Converted(strings: String(describing: value).components(separatedBy: ";"))
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

struct ConversionTests {
  let suite = TemporarySuite()
  var store: UserDefaultsStore { suite.store }

  @Test func conversions() {
    let key = Key<GlobalNamespace, Converted?>(id: "converted", defaultValue: nil)
    store.set(key, value: Converted(strings: ["fill", "in"]))
    #expect(store.get(key) == Converted(strings: ["fill", "in"]))
    let mode = Key<GlobalNamespace, Mode>(id: "mode", defaultValue: .day)
    #expect(store.get(mode) == .day)
    store.set(mode, value: .night)
    #expect(store.get(mode) == .night)
    let empty = Key<GlobalNamespace, Empty?>(id: "empty", defaultValue: nil)
    #expect(throws: StorezFailure.self) { try store.throwing { $0.set(empty, value: Empty()) } }
  }
}
