public import Foundation

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
  func apply(to payload: ByteView, _ header: RecordHeader, _ key: CacheKey) throws(CacheError) -> Data? {
    var bytes = Data(payload)
    var applied: [UInt8] = []
    for transform in transforms {
      do {
        // The storing checks the last result.
        if bytes.count > Self.maximumLength {
          throw ValueTransformError("Between two transforms it is longer than 4 GiB. Write it in parts.")
        }
        let context = context(header, header.tags, key, applied + [transform.identifier])
        guard let transformed = try transform.apply(to: bytes, context) else {
          if transform.isRequired {
            throw ValueTransformError("A required transform returned nil. It must return the transformed value.")
          }
          continue
        }
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

  /// - Parameter tags: The record's tags, used instead of the header's.
  func restore(
    _ payload: ByteView, _ header: RecordHeader, _ tags: EntryTags?, _ key: CacheKey
  ) throws(CacheError) -> Data {
    guard let count = payload.first.map(Int.init), count > 0, payload.count > count else {
      throw failed(key, ValueTransformError("The list of its transforms is damaged. Store it again."))
    }
    let applied = Array(payload[1...count])
    guard Set(applied).count == count else {
      throw failed(key, ValueTransformError("The list of its transforms names one twice. Store it again."))
    }
    for transform in transforms where transform.isRequired && !applied.contains(transform.identifier) {
      throw untransformed(key.string)
    }
    var bytes = Data(payload[(count + 1)...])
    for (index, identifier) in applied.enumerated().reversed() {
      guard let transform = transforms.first(where: { $0.identifier == identifier }) else {
        throw CacheError(
          .missingTransform,
          "The entry \(quoted(key.string)) was written with the value transform \(name(identifier)), which is not among "
            + "the cache's valueTransforms. It is kept; add the transform to read it.")
      }
      do {
        bytes = try withExtendedLifetime(tags) {
          try transform.restore(bytes, context(header, tags?.hashes, key, applied[...index]))
        }
      } catch {
        throw failed(key, error)
      }
      guard bytes.count <= Self.maximumLength else {
        throw failed(key, ValueTransformError("It is longer than 4 GiB. Store it again, in parts."))
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
      from a time before that, or somebody has put it there. It is kept. Store it again; to read entries from before, \
      make the transform one that is not required, such as by acceptsPlainValues.
      """)
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

  private func context(
    _ header: RecordHeader, _ tags: TagHashes?, _ key: CacheKey, _ applied: some Collection<UInt8>
  ) -> ValueTransformContext {
    ValueTransformContext(
      key: key.string, authenticatedData: Self.authenticatedData(header, tags, key, applied),
      maximumLength: Self.maximumLength)
  }

  /// The bytes to authenticate: layout version, format, expiry, cost and creation in 22 bytes, little endian; the two
  /// other times if set or if there are tags; the stored tags, if any; the number of transforms up to this one, and
  /// their identifiers; and the key.
  private static func authenticatedData(
    _ header: RecordHeader, _ tags: TagHashes?, _ key: CacheKey, _ transforms: some Collection<UInt8>
  ) -> Data {
    let hasTimes = header.refresh != 0 || header.kept != 0 || tags != nil
    var data = Data(capacity: 39 + (tags?.length ?? 0) + transforms.count + key.utf8.count)
    func append(_ number: some FixedWidthInteger) {
      unsafe withUnsafeBytes(of: number.littleEndian) { unsafe data.append(contentsOf: $0) }
    }
    data.append(tags != nil ? 3 : hasTimes ? 2 : 1)
    data.append(header.format.rawValue)
    append(header.expires)
    append(Int64(header.cost))
    append(header.created)
    if hasTimes {
      append(header.refresh)
      append(header.kept)
    }
    if let tags { data.append(contentsOf: tags.bytes) }
    data.append(UInt8(transforms.count))
    data.append(contentsOf: transforms)
    data.append(contentsOf: key.utf8)
    return data
  }
}

/// Changes the archived bytes of values on their way to the disk, and back: compression, encryption.
///
/// A cache applies its transforms in the order of ``CacheConfiguration/valueTransforms``, and undoes them in reverse.
/// Each record names its transforms; when it is read, the list must contain them in any order. The memory tier holds
/// plain values.
///
/// The functions are called on any reading or writing thread, concurrently, without a lock.
public protocol ValueTransform: Sendable {
  /// Identifies it in records: 128 … 255 for custom transforms; part of the file format. 1 … 127 belong to this
  /// package, and a cache does not open with a custom transform in that range.
  var identifier: UInt8 { get }

  /// Whether every value must have gone through it; false by default. If true, other values are
  /// ``CacheError/Code/untransformed``, and ``apply(to:_:)`` must not return `nil`.
  ///
  /// Require transforms that protect values, such as encryption; otherwise anyone who can write to the files could
  /// replace protected values.
  var isRequired: Bool { get }

  /// Returns the changed bytes, or `nil` to skip this transform for the value.
  func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data?

  /// Undoes ``apply(to:_:)``. The bytes may be forged: it must throw rather than trap, and return at most
  /// ``ValueTransformContext/maximumLength`` bytes.
  func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data
}

protocol PackagedTransform: ValueTransform {}

extension ValueTransform {
  public var isRequired: Bool { false }
}

/// The entry's data for a transform.
public struct ValueTransformContext: Sendable {
  public let key: String
  /// The key, the header's format, expiry, cost, tags and creation, and the transforms up to this one. An authenticated
  /// cipher that includes it detects values with another key, a longer life or a stripped transform.
  public let authenticatedData: Data
  /// The maximum length of a restored value, in bytes.
  public let maximumLength: Int
}

/// The failure of a transform of this package; the cache's errors have it as `underlying`.
struct ValueTransformError: LocalizedError, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  var errorDescription: String? { description }
}
