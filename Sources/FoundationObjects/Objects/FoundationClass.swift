#if !canImport(Darwin)
  package import Foundation

  /// How an object of one of Foundation's classes is made of the fields that an archive holds of it, where the two
  /// kinds of archives hold the same fields.
  ///
  /// The classes' own `init(coder:)` on Linux trust what they read: given bytes that were made up, many of them end the
  /// process. What is made here is checked first.
  package struct FoundationClass: Sendable {
    package let type: AnyClass
    /// Returns `nil` if what was decoded makes no such object.
    package let make: @Sendable (any FoundationFields) -> NSObject?

    package static let all: [FoundationClass] = texts + times + measures + notifications

    private static let byType = Dictionary(uniqueKeysWithValues: all.map { (ObjectIdentifier($0.type), $0) })

    package static func of(_ type: AnyClass) -> FoundationClass? { byType[ObjectIdentifier(type)] }

    init(_ type: AnyClass, _ make: @escaping @Sendable (any FoundationFields) -> NSObject?) {
      self.type = type
      self.make = make
    }
  }
#endif
