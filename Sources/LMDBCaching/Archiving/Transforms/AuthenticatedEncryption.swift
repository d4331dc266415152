#if Encryption
  import Crypto
  public import Foundation

  /// Encrypts values, and finds out whether they were changed. There with the package trait `Encryption`.
  ///
  /// The key, the entry's key and what its header says are bound together: a value that was written with another key, moved
  /// to another entry, or given another expiry, is an error when it is read. Keys of entries, lengths and times are not
  /// secret, nor is the memory tier. Put it after compression.
  public struct AuthenticatedEncryption: ValueTransform {
    /// Both with a nonce of 96 random bits for every value, and a tag of 128 bits.
    public enum Algorithm: Sendable {
      /// AES in Galois/Counter mode (NIST SP 800-38D), with a key of 16, 24 or 32 bytes.
      case aesGCM
      /// ChaCha20-Poly1305 (RFC 8439), with a key of 32 bytes.
      case chaChaPoly
    }

    public let algorithm: Algorithm
    private let key: @Sendable () throws -> Data

    /// - Parameter key: Supplies the key, for each value: from a keychain, say. Keep it cheap. What it throws makes the read
    ///   or the write throw. With random nonces, no more than 2^32 values should be written with one key.
    public init(_ algorithm: Algorithm = .aesGCM, key: @escaping @Sendable () throws -> Data) {
      self.algorithm = algorithm
      self.key = key
    }

    public var identifier: UInt8 {
      switch algorithm {
      case .aesGCM: 16
      case .chaChaPoly: 17
      }
    }

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
        throw ValueTransformError("The encryption key has \(key.count) bytes; it needs \(lengths).")
      }
      return SymmetricKey(data: key)
    }
  }
#endif
