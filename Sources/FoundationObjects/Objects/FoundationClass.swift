#if !canImport(Darwin)
  package import Foundation

  /// Creates an object of a Foundation class from fields that both kinds of archives share.
  ///
  /// The classes' own `init(coder:)` on Linux trusts its input, and forged bytes can end the process. Here the fields
  /// are checked first.
  package struct FoundationClass: Sendable {
    package let type: AnyClass
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
