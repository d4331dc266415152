import CSecret
import Foundation

/// Secret bytes in libsecret's memory, which is not paged out as far as `ulimit -l` allows, and is overwritten when it
/// is released.
// @unchecked: immutable, with an atomic reference count.
// @safe: the bytes live as long as the object.
@safe final class Secret: @unchecked Sendable {
  let value: OpaquePointer

  init(copying bytes: UnsafeRawBufferPointer, contentType: ContentType) {
    if let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self) {
      unsafe value = secret_value_new(start, bytes.count, contentType.rawValue)
    } else {
      unsafe value = secret_value_new("", 0, contentType.rawValue)
    }
  }

  /// Takes over the caller's reference.
  init(owning value: OpaquePointer) { unsafe self.value = value }

  /// Releases the value, and overwrites it with the last reference.
  deinit { unsafe secret_value_unref(gpointer(value)) }

  /// Valid as long as the object.
  var bytes: UnsafeRawBufferPointer {
    var count: gsize = 0
    let start = unsafe secret_value_get(value, &count)
    return unsafe UnsafeRawBufferPointer(start: start, count: Int(count))
  }

  /// Calls the closure with the caller's bytes, which it must not keep.
  func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { withExtendedLifetime(self) {} }
    let bytes = unsafe bytes
    let isMarked = unsafe bytes.suffix(Self.mark.count).elementsEqual(Self.mark)
    return try unsafe body(isMarked ? UnsafeRawBufferPointer(rebasing: bytes.dropLast(Self.mark.count)) : bytes)
  }
}

extension Secret {
  var data: Data { unsafe withUnsafeBytes { unsafe Data($0) } }

  /// Copies the bytes of an item, in a form that each service returns unchanged.
  ///
  /// GNOME Keyring keeps a keyring without a password in a text file, with UTF-8 secrets verbatim, so that a line feed
  /// destroys the keyring, and others in hexadecimal. So a text other than one plain line gets a mark at its end that
  /// is not UTF-8. Programs that read the secret as a C string only see the text.
  convenience init(item bytes: UnsafeRawBufferPointer, contentType: ContentType) {
    guard unsafe Self.needsMark(bytes) else {
      unsafe self.init(copying: bytes, contentType: contentType)
      return
    }
    let marked = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + Self.mark.count, alignment: 1)
    defer {
      unsafe explicit_bzero(marked.baseAddress!, marked.count)
      unsafe marked.deallocate()
    }
    unsafe marked.copyMemory(from: bytes)
    unsafe UnsafeMutableRawBufferPointer(rebasing: marked[bytes.count...]).copyBytes(from: Self.mark)
    unsafe self.init(copying: UnsafeRawBufferPointer(marked), contentType: .data)
  }

  static func text(_ text: String) -> Secret {
    var text = text
    return text.withUTF8 { unsafe Secret(item: UnsafeRawBufferPointer($0), contentType: .text) }
  }

  static func data(_ data: Data) -> Secret {
    unsafe data.withUnsafeBytes { unsafe Secret(item: $0, contentType: .data) }
  }

  private static let mark: [UInt8] = [0, 0xff] + Array("EFStorage".utf8)

  private static func needsMark(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if unsafe bytes.suffix(mark.count).elementsEqual(mark) { return true }
    let blank = UInt8(ascii: " ")
    let isPlain =
      unsafe bytes.first != blank && bytes.last != blank
      && bytes.allSatisfy { $0 >= blank && $0 != 0x7f && $0 != UInt8(ascii: "\\") }
    // The service takes bytes with a NUL as binary.
    return unsafe !isPlain && !bytes.contains(0)
      && (try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span)) != nil
  }
}

extension Secret {
  /// The content type for the service. Not every service remembers it.
  enum ContentType: String {
    case text = "text/plain"
    case data = "application/octet-stream"
  }
}

struct StoredItem: Sendable {
  var path: String
  var label: String
  var attributes: [String: String]
  var created: Date?
  var modified: Date?
  /// `nil` if not requested, or locked.
  var secret: Secret?

  /// From the properties of `org.freedesktop.Secret.Item`.
  init(path: String, properties: [String: Variant]) {
    func date(_ name: String) -> Date? {
      properties[name]?.uint64.flatMap { $0 == 0 ? nil : Date(timeIntervalSince1970: TimeInterval($0)) }
    }
    self.path = path
    label = properties["Label"]?.text ?? ""
    attributes = properties["Attributes"]?.strings ?? [:]
    created = date("Created")
    modified = date("Modified")
  }
}
