#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// How objects of one of Foundation's classes are archived, in place of the class's own methods.
  ///
  /// Those of Foundation on Linux trust what they read: given another coder than Foundation's, or bytes that were
  /// made up, many of them end the process.
  struct FoundationCoding: Sendable {
    let type: AnyClass
    let encode: @Sendable (AnyObject, CBORKeyedArchiver) -> Void
    /// Returns `nil` if what was decoded makes no such object.
    let decode: @Sendable (CBORKeyedUnarchiver) -> NSObject?

    static let all: [FoundationCoding] = values + texts + times + measures + notifications

    static func make<Object: NSObject>(
      _ type: Object.Type, encode: @escaping @Sendable (Object, CBORKeyedArchiver) -> Void,
      decode: @escaping @Sendable (CBORKeyedUnarchiver) -> NSObject?
    ) -> FoundationCoding {
      FoundationCoding(
        type: type, encode: { object, coder in encode(unsafeDowncast(object, to: Object.self), coder) },
        decode: decode)
    }

    /// For a class whose objects are made in the same way of each kind of archive.
    static func make<Object: NSObject>(
      _ type: Object.Type, encode: @escaping @Sendable (Object, CBORKeyedArchiver) -> Void
    ) -> FoundationCoding {
      guard let shared = FoundationClass.of(type) else { preconditionFailure("\(type) is not in FoundationClass.all.") }
      return make(type, encode: encode, decode: { shared.make($0) })
    }

    /// Whether the key at an offset is one that Foundation's own `encode(with:)` writes: it begins with "NS." or "NS".
    static func isFoundationsKey(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
      var reader = CBORReader(bytes, at: offset)
      guard let text = try? reader.readDefinite(.text), text.count >= 3 else { return false }
      return text[0] == UInt8(ascii: "N") && text[1] == UInt8(ascii: "S") && text[2] == UInt8(ascii: ".")
    }
  }

  extension CBORKeyedUnarchiver {
    /// Foundation's classes whose objects are decoded, whatever is in the archive.
    package static let foundationClasses: [AnyClass] = ValueClasses.basic + FoundationCoding.all.map(\.type)
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
