#if canImport(Foundation)
  public import Foundation

  extension EFContentWrapper where Content: NSString {
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
