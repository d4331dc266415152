#if Compression
  import CZstd
  public import Foundation

  /// Compresses values with Zstandard (RFC 8878). Available with the package trait `Compression`. A value that does not
  /// become shorter is stored as it is.
  public struct ZstandardCompression: PackagedTransform {
    public var identifier: UInt8 { 1 }
    /// 1 … 19, from fast to small; negative levels are even faster.
    public let level: Int
    /// Shorter values, in bytes, are not compressed.
    public let minimumLength: Int

    /// - Parameter level: Clamped to -100 … 19.
    public init(level: Int = 3, minimumLength: Int = 256) {
      self.level = min(19, max(-100, level))
      self.minimumLength = max(0, minimumLength)
    }

    public func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? {
      if bytes.count < minimumLength { return nil }
      var compressed = Data(count: ZSTD_compressBound(bytes.count))
      let length = unsafe compressed.withUnsafeMutableBytes { target in
        unsafe bytes.withUnsafeBytes { source in
          unsafe ZSTD_compress(target.baseAddress, target.count, source.baseAddress, source.count, Int32(level))
        }
      }
      try check(length)
      if length >= bytes.count { return nil }
      compressed.count = length
      return compressed
    }

    public func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data {
      let length = unsafe bytes.withUnsafeBytes { unsafe ZSTD_getFrameContentSize($0.baseAddress, $0.count) }
      guard length != czstd_contentsize_error(), length != czstd_contentsize_unknown() else {
        throw ValueTransformError("It is no frame of Zstandard with a known length. Store it again.")
      }
      // A frame of n bytes holds blocks of at most 128 KiB behind headers of three, so a longer one is forged. This
      // bounds the allocation for a few bytes.
      guard length <= UInt64(context.maximumLength), length / (128 << 10) <= UInt64(bytes.count) else {
        throw ValueTransformError(
          "Its frame of Zstandard claims to hold \(length) bytes, which cannot be. Store it again.")
      }
      var restored = Data(count: Int(length))
      let written = unsafe restored.withUnsafeMutableBytes { target in
        unsafe bytes.withUnsafeBytes { source in
          unsafe ZSTD_decompress(target.baseAddress, target.count, source.baseAddress, source.count)
        }
      }
      try check(written)
      guard written == restored.count else {
        throw ValueTransformError("Its frame of Zstandard ends too early. Store it again.")
      }
      return restored
    }

    private func check(_ result: Int) throws {
      if ZSTD_isError(result) != 0 {
        throw ValueTransformError(
          "Zstandard failed: \(unsafe String(cString: ZSTD_getErrorName(result))). Store it again.")
      }
    }
  }
#endif

#if Encryption
  import Crypto
  public import Foundation

  /// Encrypts and authenticates values. Available with the package trait `Encryption`.
  ///
  /// It binds together the encryption key, the entry's key, the header's format, expiry, cost, tags and creation, and
  /// the earlier transforms. Reading throws ``CacheError/Code/decodingFailed`` for a value encrypted with another key,
  /// moved to another entry, given another expiry or tags, or stripped of a transform. A value that was never encrypted
  /// is ``CacheError/Code/untransformed``, unless ``acceptsPlainValues`` is true. Put it after compression.
  ///
  /// **Not hidden:** an entry's existence, key, value length (after compression, which reveals something of the
  /// contents), format, cost, expiry, tag hashes, and times of writing and last use. The memory tier holds plain
  /// values, which the operating system may write to disk with the process's memory.
  ///
  /// **Not detected:** that an entry was removed, or that a removal was undone; that an older value of the same entry,
  /// with its header, was put back; and that an entry comes from another cache with the same key. Use a key for each
  /// cache, and put a version into values whose older ones must not be trusted. Listings such as ``CacheEntry``, which
  /// do not read values, are not authenticated.
  public struct AuthenticatedEncryption: PackagedTransform {
    /// Both use a nonce of 96 random bits for every value, and a tag of 128 bits.
    public enum Algorithm: Sendable {
      /// AES in Galois/Counter mode (NIST SP 800-38D), with a key of 16, 24 or 32 bytes.
      case aesGCM
      /// ChaCha20-Poly1305 (RFC 8439), with a key of 32 bytes.
      case chaChaPoly
    }

    public let algorithm: Algorithm
    /// Whether unencrypted values are read. False by default.
    ///
    /// Set it while you convert an unencrypted cache: old entries are read, and every write is encrypted. As long as it
    /// is true, anyone with write access can replace encrypted values with plain ones. Set it to false when all old
    /// entries have been rewritten or have expired.
    public let acceptsPlainValues: Bool
    private let key: @Sendable () throws -> Data

    /// - Parameters:
    ///   - algorithm: The cipher. Entries of another algorithm are errors; to change it, remove all entries.
    ///   - acceptsPlainValues: See ``acceptsPlainValues``.
    ///   - key: Supplies the key for each value, from a keychain for example. Keep it cheap; its errors make the read
    ///     or write throw. With random nonces, a key should encrypt at most 2^32 values.
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
        // Never nil with a nonce of the usual length.
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
        throw ValueTransformError("The encryption key has \(key.count) bytes. Give one of \(lengths).")
      }
      return SymmetricKey(data: key)
    }
  }
#endif
