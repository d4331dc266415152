#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// Creates Foundation objects from archives of `NSKeyedArchiver`, written on Apple's platforms or Linux, without
  /// their own `init(coder:)`.
  struct FoundationDecoding: Sendable {
    let type: AnyClass
    let decode: @Sendable (KeyedArchiveReader) throws(KeyedArchiveError) -> NSObject?

    static let byType: [ObjectIdentifier: FoundationDecoding] = Dictionary(
      uniqueKeysWithValues: all.map { (ObjectIdentifier($0.type), $0) })

    /// By the class's name in archives, its Objective-C name.
    static let byName: [String: FoundationDecoding] = {
      var byName = Dictionary(uniqueKeysWithValues: all.map { (NSStringFromClass($0.type), $0) })
      // Subclasses that Apple's archivers write instead of these.
      for (name, standsFor) in [("NSDecimalNumberPlaceholder", "NSDecimalNumber"), ("NSConcreteValue", "NSValue")] {
        byName[name] = byName[standsFor]
      }
      return byName
    }()

    private static let all = values + collections + texts + shared

    /// Classes with the same fields in both kinds of archives.
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
