#if !canImport(Darwin)
  import Foundation

  extension FoundationCoding {
    static let notifications: [FoundationCoding] = [
      make(NSError.self) { error, coder in
        coder.encode(error.domain as String?, forKey: "domain")
        coder.encode(error.code, forKey: "code")
        if !error.userInfo.isEmpty { coder.encode(error.userInfo as Any?, forKey: "userInfo") }
      },
      make(NSNotification.self) { notification, coder in
        coder.encode(notification.name.rawValue as String?, forKey: "name")
        if let object = notification.object { coder.encode(object as Any?, forKey: "object") }
        if let userInfo = notification.userInfo { coder.encode(userInfo as Any?, forKey: "userInfo") }
      },
    ]
  }
#endif
