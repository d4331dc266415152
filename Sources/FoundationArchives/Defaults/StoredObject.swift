package import Foundation

/// The object under a user defaults key at one moment, for comparisons.
// Sendable: objects from user defaults are never changed.
package struct StoredObject: @unchecked Sendable {
  package let object: Any?

  package init(_ defaults: UserDefaults, _ key: String) { object = defaults.object(forKey: key) }

  package func isSame(as other: StoredObject) -> Bool {
    switch (object, other.object) {
    case (nil, nil): true
    case (let object?, let other?): Self.areSame(object, other)
    default: false
    }
  }

  /// Whether two property list objects are equal. Objects that cannot be compared differ.
  private static func areSame(_ first: Any, _ second: Any) -> Bool {
    switch (first, second) {
    case (let first as [Any], let second as [Any]):
      first.count == second.count && zip(first, second).allSatisfy(areSame)
    case (let first as [String: Any], let second as [String: Any]):
      first.count == second.count
        && first.allSatisfy { name, value in second[name].map { areSame(value, $0) } ?? false }
    // NaN is not equal to itself but the same content.
    case (let first as AnyHashable, let second as AnyHashable):
      first == second || (first != first && second != second)
    default: false
    }
  }
}
