import Foundation

/// The transforms of a cache.
///
/// A transformed payload begins with the number of its transforms, and their identifiers in order. Each transform can
/// authenticate that list up to itself, so an authenticated cipher detects changes of it.
struct ValueTransforms: Sendable {
  let transforms: [any ValueTransform]
  let isRequired: Bool

  /// Values are shorter than 4 GiB, also after restoring.
  static let maximumLength = (1 << 32) - 1

  static let none = ValueTransforms(transforms: [])

  init(transforms: [any ValueTransform]) {
    self.transforms = transforms
    isRequired = transforms.contains { $0.isRequired }
  }

  var isEmpty: Bool { transforms.isEmpty }

  /// Returns the stored form, or `nil` if every transform was skipped.
  func apply(to payload: UnsafeRawBufferPointer, _ entry: TransformedEntry) throws(CacheError) -> Data? {
    var bytes = Data(payload)
    var applied: [UInt8] = []
    for transform in transforms {
      do {
        // The storing checks the last result.
        if bytes.count > Self.maximumLength {
          throw ValueTransformError(.tooLarge, "Between two transforms it is longer than 4 GiB. Write it in parts.")
        }
        let context = context(entry, applied + [transform.identifier])
        guard let transformed = try transform.apply(to: bytes, context) else {
          if transform.isRequired {
            throw ValueTransformError(
              .left, "A transform that is required left it as it is. It must return what is to be stored, and not nil.")
          }
          continue
        }
        bytes = transformed
        applied.append(transform.identifier)
      } catch {
        throw CacheError(
          .encodingFailed, "The value of \(quoted(entry.key)) could not be transformed; nothing was written.",
          underlying: error)
      }
    }
    if applied.isEmpty { return nil }
    return Data([UInt8(applied.count)] + applied) + bytes
  }

  func restore(_ payload: UnsafeRawBufferPointer, _ entry: TransformedEntry) throws(CacheError) -> Data {
    guard let count = payload.first.map(Int.init), count > 0, payload.count > count else {
      throw failed(entry, ValueTransformError(.damaged, "The list of its transforms is damaged. Write it anew."))
    }
    let applied = Array(payload[1...count])
    guard Set(applied).count == count else {
      throw failed(entry, ValueTransformError(.damaged, "The list of its transforms names one twice. Write it anew."))
    }
    for transform in transforms where transform.isRequired && !applied.contains(transform.identifier) {
      throw untransformed(entry.key)
    }
    var bytes = Data(payload[(count + 1)...])
    for (index, identifier) in applied.enumerated().reversed() {
      guard let transform = transforms.first(where: { $0.identifier == identifier }) else {
        throw CacheError(
          .missingTransform,
          "The entry \(quoted(entry.key)) was written with the value transform \(name(identifier)), which is not among "
            + "the cache's valueTransforms. It is kept; add the transform to read it.")
      }
      do {
        bytes = try transform.restore(bytes, context(entry, applied[...index]))
      } catch {
        throw failed(entry, error)
      }
      guard bytes.count <= Self.maximumLength else {
        throw failed(entry, ValueTransformError(.tooLarge, "It is longer than 4 GiB. Write it anew, in parts."))
      }
    }
    return bytes
  }

  func untransformed(_ key: String) -> CacheError {
    let required = transforms.filter(\.isRequired).map { name($0.identifier) }
    return CacheError(
      .untransformed,
      """
      The entry \(quoted(key)) was not written with \(required.joined(separator: ", ")), which the cache requires: it is \
      from a time before that, or somebody has put it there. It is kept. Write it anew; to read entries from before, \
      make the transform one that is not required, such as by acceptsPlainValues.
      """)
  }

  private func failed(_ entry: TransformedEntry, _ error: any Error) -> CacheError {
    CacheError(
      .decodingFailed,
      "The transformed value of \(quoted(entry.key)) cannot be restored: a wrong encryption key, or an entry that was "
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

  private func context(_ entry: TransformedEntry, _ applied: some Collection<UInt8>) -> ValueTransformContext {
    ValueTransformContext(
      key: entry.key, authenticatedData: entry.authenticatedData(applied), maximumLength: Self.maximumLength)
  }
}
