#if canImport(Foundation)
  public import Foundation

  extension EFContentWrapper where Content: NSString {
    /// The content as a Swift string.
    public var string: String {
      get { wrappedValue as String }
      set { wrappedValue = Content(string: newValue) }
    }
  }

  // Not mutating, so that observers of failures may use the property.

  extension EFStorageComposition where Content: NSString {
    /// The content as a Swift string.
    public var string: String {
      get { wrappedValue as String }
      nonmutating set { wrappedValue = Content(string: newValue) }
    }
  }

  extension SomeEFStorage where Content: NSString {
    /// The content as a Swift string.
    public var string: String {
      get { wrappedValue as String }
      set { wrappedValue = Content(string: newValue) }
    }
  }

  extension EFOptionalContentWrapper where Content: NSString {
    /// The content as a Swift string.
    public var string: String? {
      get { content as String? }
      set { content = newValue.map { Content(string: $0) } }
    }
  }
#endif
