#if !canImport(Darwin)
  import Foundation

  /// FoundationNetworking's classes, whose `init(coder:)` ends the process on missing or invalid fields.
  ///
  /// Found by name, because importing the module would load it into every program.
  package enum NetworkingClass {
    private static let module = "FoundationNetworking."

    /// The class with a name used by `NSKeyedArchiver`.
    package static func find(_ name: String) -> AnyClass? {
      guard ["NSURLCredential", "NSURLResponse", "NSHTTPURLResponse"].contains(name) else { return nil }
      return _typeByName(module + name.dropFirst(2)) as? AnyClass
    }

    /// The class or its nearest superclass that belongs to the module.
    package static func ancestor(of type: AnyClass) -> AnyClass? {
      var next: AnyClass? = type
      while let ancestor = next, ancestor != NSObject.self {
        if _typeName(ancestor, qualified: true).hasPrefix(module) { return ancestor }
        next = _getSuperclass(ancestor)
      }
      return nil
    }

    /// Whether the fields required by a class's `init(coder:)` are there.
    package static func isComplete(_ type: AnyClass, _ coder: any FoundationFields) -> Bool {
      func isURL(_ key: String) -> Bool { coder.decodeObject(of: NSURL.self, forKey: key)?.swiftValue != nil }
      func isNil(_ key: String) -> Bool { coder.decodeObject(forKey: key) == nil }
      func isNumber(_ key: String, _ range: ClosedRange<Int> = .min ... .max) -> Bool {
        coder.decodeObject(of: NSNumber.self, forKey: key).map { range.contains($0.intValue) } ?? false
      }
      func areTexts(_ key: String) -> Bool {
        guard let texts = coder.dictionary(allowing: [NSString.self], forKey: key)?.valuesByName() else { return false }
        return texts.values.allSatisfy { $0 is NSString }
      }
      switch _typeName(type, qualified: true).dropFirst(module.count) {
      case "URLCredential": return isNil("NS._persistence") || isNumber("NS._persistence", 0...3)
      case "URLResponse": return isURL("NS.url")
      case "HTTPURLResponse":
        return isURL("NS.url")
          && (!coder.containsValue(forKey: "NS.allHeaderFields") || areTexts("NS.allHeaderFields"))
      case "NSURLRequest", "NSMutableURLRequest":
        return ["NS.url", "NS.mainDocumentURL"].allSatisfy { isNil($0) || isURL($0) }
          && isNumber("NS._cachePolicy", 0...5) && isNumber("NS._networkServiceType", 0...5)
          && [
            "NS._timeoutInterval", "NS._allowsCellularAccess", "NS._httpShouldHandleCookies",
            "NS._httpShouldUsePipelining",
          ].allSatisfy { isNumber($0) }
      default: return false
      }
    }
  }
#endif
