"""What a composer knows: form, harmony, melody, and how parts are laid out."""
