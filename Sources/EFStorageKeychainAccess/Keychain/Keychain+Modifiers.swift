/// Each returns another keychain for the same items, and leaves this one unchanged.
extension Keychain {
  /// The label of items when they are set, shown by the service's program. Without one, a new item gets its service and
  /// key as label, and an existing item keeps its label.
  public func label(_ label: String) -> Keychain {
    with { $0.label = label }
  }

  /// The comment of items when they are set, an attribute. Not secret.
  public func comment(_ comment: String) -> Keychain {
    with { $0.comment = comment }
  }

  /// Attributes to add to items when they are set. Not secret.
  ///
  /// Stored as text: strings, Booleans, integers in decimal, data in Base64. Setting an item throws
  /// ``KeychainError/Code/invalidAttribute`` for a value of another type, or a name that identifies items (`class`,
  /// `service`, `server`, `port`, `protocol`, `authenticationType`, `accessGroup`, `key`, `xdg:…`).
  public func attributes(_ attributes: [String: Any]) -> Keychain {
    with { $0.add(attributes) }
  }

  /// **Without effect on Linux**, except for an attribute that records it: see ``Accessibility``.
  public func accessibility(_ accessibility: Accessibility) -> Keychain {
    with { $0.accessibility = accessibility }
  }

  /// **Without effect on Linux**, except for an attribute that records it: the service synchronizes nothing.
  public func synchronizable(_ synchronizable: Bool) -> Keychain {
    with { $0.synchronizable = synchronizable }
  }

  /// **Without effect on Linux**: the service chooses its own words.
  public func authenticationPrompt(_ authenticationPrompt: String) -> Keychain {
    with { $0.authenticationPrompt = authenticationPrompt }
  }

  /// Whether a locked keyring may make the service prompt. ``AuthenticationUI/allow`` is the default.
  public func authenticationUI(_ authenticationUI: AuthenticationUI) -> Keychain {
    with { $0.waits.authenticationUI = authenticationUI }
  }

  /// How long a prompt may wait for a person: one minute by default. Zero or less: no prompt.
  ///
  /// After that, the call throws ``KeychainError/Code/locked``. The service may keep showing the prompt: answered
  /// later, it unlocks the keyring for later calls.
  public func interactionTimeout(_ timeout: Duration) -> Keychain {
    with { $0.waits.interactionTimeout = timeout }
  }

  /// How long the bus and the service may take for an operation, without prompts: 5 seconds by default, one day at
  /// most. Operations on many items allow this for each item. After that, the call throws
  /// ``KeychainError/Code/timedOut``.
  public func timeout(_ timeout: Duration) -> Keychain {
    with { $0.waits.timeout = timeout }
  }

  private func with(_ change: (inout Options) -> Void) -> Keychain {
    var options = options
    change(&options)
    return Keychain(options, store: store)
  }
}
