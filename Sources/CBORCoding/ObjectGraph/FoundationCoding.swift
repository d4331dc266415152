#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// Archives objects of one Foundation class instead of the class's own methods.
  ///
  /// Foundation's methods on Linux trust their input: with another coder or forged bytes many end the process.
  struct FoundationCoding: Sendable {
    let type: AnyClass
    let encode: @Sendable (AnyObject, CBORKeyedArchiver) -> Void
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

    /// For a class whose objects are made the same way from all kinds of archives.
    static func make<Object: NSObject>(
      _ type: Object.Type, encode: @escaping @Sendable (Object, CBORKeyedArchiver) -> Void
    ) -> FoundationCoding {
      guard let shared = FoundationClass.of(type) else { preconditionFailure("\(type) is not in FoundationClass.all.") }
      return make(type, encode: encode, decode: { shared.make($0) })
    }

    /// Whether the key at an offset has Foundation's prefix, "NS." or "NS".
    static func isFoundationsKey(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
      var reader = CBORReader(bytes, at: offset)
      guard let text = try? reader.readDefinite(.text), text.count >= 3 else { return false }
      return text[0] == UInt8(ascii: "N") && text[1] == UInt8(ascii: "S") && text[2] == UInt8(ascii: ".")
    }
  }

  extension CBORKeyedUnarchiver {
    /// Foundation classes that are always decoded safely.
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
