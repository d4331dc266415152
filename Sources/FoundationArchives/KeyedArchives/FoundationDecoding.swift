#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// How objects of Foundation's classes are made of what `NSKeyedArchiver` wrote of them, on Apple's platforms and on
  /// Linux, in place of their own `init(coder:)`.
  struct FoundationDecoding: Sendable {
    let type: AnyClass
    /// Returns `nil` if what is there makes no such object.
    let decode: @Sendable (KeyedArchiveReader) throws(KeyedArchiveError) -> NSObject?

    static let byType: [ObjectIdentifier: FoundationDecoding] = Dictionary(
      uniqueKeysWithValues: all.map { (ObjectIdentifier($0.type), $0) })

    /// By the name in archives, which for Foundation's classes is the one they have in Objective-C.
    static let byName: [String: FoundationDecoding] = {
      var byName = Dictionary(uniqueKeysWithValues: all.map { (NSStringFromClass($0.type), $0) })
      // What Apple's archivers call the subclasses that stand in for these.
      for (name, standsFor) in [("NSDecimalNumberPlaceholder", "NSDecimalNumber"), ("NSConcreteValue", "NSValue")] {
        byName[name] = byName[standsFor]
      }
      return byName
    }()

    private static let all = values + collections + texts + shared

    /// The classes of which archives of either kind hold the same fields.
    private static let shared = FoundationClass.all.map { known in
      FoundationDecoding(type: known.type) { reader throws(KeyedArchiveError) in known.make(reader) }
    }

    static func make<Object: NSObject>(
      _ type: Object.Type, _ decode: @escaping @Sendable (KeyedArchiveReader) throws(KeyedArchiveError) -> NSObject?
    ) -> FoundationDecoding {
      FoundationDecoding(type: type, decode: decode)
    }
  }
#endif
