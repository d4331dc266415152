import Foundation

/// The transforms of a cache.
///
/// A transformed payload begins with the number of the transforms that were applied, and their identifiers in order.
struct ValueTransforms: Sendable {
  let transforms: [any ValueTransform]

  /// Values are shorter than 4 GiB; so is what they are restored to.
  static let maximumLength = (1 << 32) - 1

  var isEmpty: Bool { transforms.isEmpty }

  /// What is to be stored; nil: every transform left the bytes as they are.
  func apply(
    to payload: UnsafeRawBufferPointer, _ header: RecordHeader, _ key: CacheKey
  ) throws(CacheError) -> Data? {
    let context = context(header, key)
    var bytes = Data(payload)
    var applied: [UInt8] = []
    for transform in transforms {
      do {
        guard let transformed = try transform.apply(to: bytes, context) else { continue }
        bytes = transformed
        applied.append(transform.identifier)
      } catch {
        throw CacheError(
          .encodingFailed, "The value of \(quoted(key.string)) could not be transformed; nothing was written.",
          underlying: error)
      }
    }
    if applied.isEmpty { return nil }
    return Data([UInt8(applied.count)] + applied) + bytes
  }

  /// The value as it was before `apply`.
  func restore(
    _ payload: UnsafeRawBufferPointer, _ header: RecordHeader, _ key: CacheKey
  ) throws(CacheError) -> Data {
    guard let count = payload.first.map(Int.init), count > 0, payload.count > count else {
      throw failed(key, ValueTransformError("The list of its transforms is damaged."))
    }
    let context = context(header, key)
    var bytes = Data(payload[(count + 1)...])
    for identifier in payload[1...count].reversed() {
      guard let transform = transforms.first(where: { $0.identifier == identifier }) else {
        throw CacheError(
          .missingTransform,
          "The entry \(quoted(key.string)) was written with the value transform \(name(identifier)), which is not among "
            + "the cache's valueTransforms. It is kept; add the transform to read it.")
      }
      do {
        bytes = try transform.restore(bytes, context)
      } catch {
        throw failed(key, error)
      }
      guard bytes.count <= Self.maximumLength else {
        throw failed(key, ValueTransformError("It is longer than 4 GiB."))
      }
    }
    return bytes
  }

  private func failed(_ key: CacheKey, _ error: any Error) -> CacheError {
    CacheError(
      .decodingFailed,
      "The transformed value of \(quoted(key.string)) cannot be restored: a wrong encryption key, or an entry that was "
        + "changed. It is kept.", underlying: error)
  }

  private func name(_ identifier: UInt8) -> String {
    switch identifier {
    case 1: "1 (Zstandard compression)"
    case 16: "16 (AES-GCM encryption)"
    case 17: "17 (ChaCha20-Poly1305 encryption)"
    default: "\(identifier)"
    }
  }

  private func context(_ header: RecordHeader, _ key: CacheKey) -> ValueTransformContext {
    ValueTransformContext(
      key: key.string, authenticatedData: header.authenticatedData(key.utf8), maximumLength: Self.maximumLength)
  }
}

extension RecordHeader {
  /// What does not change between writing and reading: the format, the expiry, the cost and the creation, in 21 bytes,
  /// little endian, and the key.
  fileprivate func authenticatedData(_ key: UnsafeRawBufferPointer) -> Data {
    var data = Data(capacity: 21 + key.count)
    data.append(format.rawValue)
    withUnsafeBytes(of: expires.littleEndian) { data.append(contentsOf: $0) }
    withUnsafeBytes(of: Int64(cost).littleEndian) { data.append(contentsOf: $0) }
    withUnsafeBytes(of: created.littleEndian) { data.append(contentsOf: $0) }
    data.append(contentsOf: key)
    return data
  }
}
