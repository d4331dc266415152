#if Encryption
  import Crypto
  public import Foundation

  /// Encrypts values, and finds out whether they were changed. There with the package trait `Encryption`.
  ///
  /// The encryption key, the entry's key, what its header says of format, expiry, cost, tags and creation, and the
  /// transforms before this one are bound together. A value that was written with another encryption key, moved to
  /// another entry, given another expiry or other tags, or stripped of a transform is
  /// ``CacheError/Code/decodingFailed`` when it is read. A value that was not encrypted at all is
  /// ``CacheError/Code/untransformed``, unless ``acceptsPlainValues`` is true. Put it after compression.
  ///
  /// **What it does not hide:** that an entry exists, its key, the length of its value (after compression, which tells
  /// something of the contents), its format, cost, expiry, the hashes of its tags, and the times of its writing and
  /// last use. The memory tier holds values as they are, and so does what the operating system writes of a process's
  /// memory.
  ///
  /// **What it cannot tell:** that an entry was removed, or that a removal, by its tag, say, was undone; that an older
  /// value of the same entry, with its own header, was put back; and that an entry is from another cache that is
  /// encrypted with the same key. Have a key for each cache, and put a version into values whose older ones must not be
  /// believed. What is listed without reading the value, such as ``CacheEntry``, is not authenticated.
  public struct AuthenticatedEncryption: PackagedTransform {
    /// Both with a nonce of 96 random bits for every value, and a tag of 128 bits.
    public enum Algorithm: Sendable {
      /// AES in Galois/Counter mode (NIST SP 800-38D), with a key of 16, 24 or 32 bytes.
      case aesGCM
      /// ChaCha20-Poly1305 (RFC 8439), with a key of 32 bytes.
      case chaChaPoly
    }

    public let algorithm: Algorithm
    /// Whether values that were not encrypted are read. False is the default.
    ///
    /// Set it while a cache that was not encrypted goes over to encryption: entries from before are read, and every
    /// write is encrypted. As long as it is true, who can write to the files can put a value of their own in place of an
    /// encrypted one. When all entries have been written anew or have expired, set it to false.
    public let acceptsPlainValues: Bool
    private let key: @Sendable () throws -> Data

    /// - Parameters:
    ///   - algorithm: How values are encrypted. Entries that another algorithm encrypted are errors; to change it, remove
    ///     all entries.
    ///   - acceptsPlainValues: See ``acceptsPlainValues``.
    ///   - key: Supplies the key, for each value: from a keychain, say. Keep it cheap. What it throws makes the read or
    ///     the write throw. With random nonces, no more than 2^32 values should be written with one key.
    public init(
      _ algorithm: Algorithm = .aesGCM, acceptsPlainValues: Bool = false, key: @escaping @Sendable () throws -> Data
    ) {
      self.algorithm = algorithm
      self.acceptsPlainValues = acceptsPlainValues
      self.key = key
    }

    public var identifier: UInt8 {
      switch algorithm {
      case .aesGCM: 16
      case .chaChaPoly: 17
      }
    }

    public var isRequired: Bool { !acceptsPlainValues }

    public func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? {
      let key = try symmetricKey()
      switch algorithm {
      case .aesGCM:
        // Never nil with a nonce of the usual length, which is what is made here.
        return try AES.GCM.seal(bytes, using: key, authenticating: context.authenticatedData).combined
      case .chaChaPoly:
        return try ChaChaPoly.seal(bytes, using: key, authenticating: context.authenticatedData).combined
      }
    }

    public func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data {
      let key = try symmetricKey()
      switch algorithm {
      case .aesGCM:
        return try AES.GCM.open(.init(combined: bytes), using: key, authenticating: context.authenticatedData)
      case .chaChaPoly:
        return try ChaChaPoly.open(.init(combined: bytes), using: key, authenticating: context.authenticatedData)
      }
    }

    private func symmetricKey() throws -> SymmetricKey {
      let key = try key()
      let lengths = algorithm == .aesGCM ? [16, 24, 32] : [32]
      guard lengths.contains(key.count) else {
        throw ValueTransformError(
          .unsuitableKey, "The encryption key has \(key.count) bytes. Give one of \(lengths).")
      }
      return SymmetricKey(data: key)
    }
  }
#endif
