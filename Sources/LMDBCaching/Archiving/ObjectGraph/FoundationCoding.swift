#if !canImport(Darwin)
  import Foundation

  /// How objects of one of Foundation's classes are archived, in place of the class's own methods.
  ///
  /// Those of Foundation on Linux trust what they read: given another coder than Foundation's, or bytes that were
  /// made up, many of them end the process.
  struct FoundationCoding: Sendable {
    let type: AnyClass
    var hashing = Hashing.sound
    let encode: @Sendable (AnyObject, CBORKeyedArchiver) -> Void
    /// nil: what was decoded makes no such object.
    let decode: @Sendable (CBORKeyedUnarchiver) -> NSObject?

    static let all: [FoundationCoding] = values + texts + times + measures + notifications

    static func make<Object: NSObject>(
      _ type: Object.Type, hashing: Hashing = .sound, encode: @escaping @Sendable (Object, CBORKeyedArchiver) -> Void,
      decode: @escaping @Sendable (CBORKeyedUnarchiver) -> NSObject?
    ) -> FoundationCoding {
      FoundationCoding(
        type: type, hashing: hashing,
        encode: { object, coder in encode(unsafeDowncast(object, to: Object.self), coder) }, decode: decode)
    }

    /// Whether the key at an offset is one that Foundation's own `encode(with:)` writes: it begins with "NS." or "NS".
    static func isFoundationsKey(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
      var reader = CBORReader(bytes, at: offset)
      guard let text = try? reader.readDefinite(.text), text.count >= 3 else { return false }
      return text[0] == UInt8(ascii: "N") && text[1] == UInt8(ascii: "S") && text[2] == UInt8(ascii: ".")
    }
  }

  extension CBORKeyedUnarchiver {
    /// A string, or nil if there is none. Swift's, so that no instance is made twice.
    func string(forKey key: String) -> String? {
      decodeObject(of: NSString.self, forKey: key).map { $0 as String }
    }

    /// A collection that may hold what is allowed around it, and objects of some more classes.
    func contents<Collection: NSObject>(
      _ type: Collection.Type, _ others: AnyClass..., forKey key: String
    ) -> Collection? {
      decodeObject(of: allowed.all + [type] + others, forKey: key) as? Collection
    }
  }

  extension CBORKeyedArchiver {
    func encode(_ integers: [Int], forKey key: String) {
      guard beginField(key) else { return }
      writer.writeArrayHead(count: integers.count)
      for integer in integers { writer.writeInteger(integer) }
    }

    func encode(_ string: String?, forKey key: String) {
      guard let string, beginField(key) else { return }
      writer.writeText(string)
    }
  }
#endif
